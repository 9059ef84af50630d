// The routes of /secret: the tenant's secrets in the vault. Its name is its id here.
#pragma once
#include "api/daytona/plane.h"

namespace cay::api::daytona {

Task<http::Response> list_secrets(core::Cay& cay, ExchangePtr exchange);  // {items, total, cursor}
Task<http::Response> create_secret(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_secret(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> patch_secret(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_secret(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
