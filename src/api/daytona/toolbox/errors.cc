#include "api/daytona/toolbox/errors.h"

namespace cay::api::daytona {

Refusal toolbox_refusal(const Error& error) { return api_refusal(error); }

}  // namespace cay::api::daytona
