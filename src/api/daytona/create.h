// POST /sandbox: makes a sandbox from a snapshot, or from an image or Dockerfile that is built
// first.
#pragma once
#include "api/daytona/control.h"

namespace cay::api::daytona {

Task<http::Response> create_sandbox(std::shared_ptr<Control> control, ExchangePtr exchange);

}  // namespace cay::api::daytona
