// A Dialer for the sockets of launcher and keepers on this host.
#pragma once
#include <string>

#include "runtime/keeper/dialer.h"

namespace cay::runtime {

// A path of any length, since it is reached through a descriptor of its directory.
Dialer unix_dialer(std::string path);

}  // namespace cay::runtime
