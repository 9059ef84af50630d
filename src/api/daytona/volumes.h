// The routes of /volumes.
#pragma once
#include "api/daytona/plane.h"

namespace cay::api::daytona {

Task<http::Response> list_volumes(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> create_volume(core::Cay& cay, ExchangePtr exchange);
// By its id, or by its name.
Task<http::Response> get_volume(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_volume(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
