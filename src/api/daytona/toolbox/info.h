// The handlers about the sandbox as a machine: directories, ports, use, environment.
#pragma once
#include "api/common/answer.h"

namespace cay::api::daytona {

Task<http::Response> user_home_dir(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> work_dir(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_ports(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> port_in_use(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> system_metrics(core::Cay& cay, ExchangePtr exchange);
// Changes the variables of the programs that start from now on.
Task<http::Response> update_env(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
