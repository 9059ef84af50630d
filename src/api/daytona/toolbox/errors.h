// The statuses and codes of the toolbox's errors (protocol reference, section 3).
#pragma once
#include "api/daytona/errors.h"

namespace cay::api::daytona {

Refusal toolbox_refusal(const Error& error);

}  // namespace cay::api::daytona
