// Registries of images (protocol reference, section 2.4, 19 to 23). No answer has a user name or a
// password.
#pragma once
#include "api/langsmith/config.h"

namespace cay::api::langsmith {

Task<http::Response> create_registry(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_registries(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_registry(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> patch_registry(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_registry(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::langsmith
