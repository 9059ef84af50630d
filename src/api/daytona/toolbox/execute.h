// The handlers of /process/execute and /process/code-run.
#pragma once
#include "api/common/answer.h"

namespace cay::api::daytona {

Task<http::Response> execute_command(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> code_run(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
