// The routes of /sandbox: one sandbox, in and out of existence.
#pragma once
#include "api/daytona/plane.h"

namespace cay::api::daytona {

Task<http::Response> create_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_sandbox(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
