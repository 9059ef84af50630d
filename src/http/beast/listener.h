// The listener's former place.
#pragma once
#include "http/listener.h"
