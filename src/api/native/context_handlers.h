// The handlers of routes about contexts.
#pragma once
#include "api/common/answer.h"

namespace cay::api::native {

Task<http::Response> create_context(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_contexts(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_context(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_context(core::Cay& cay, ExchangePtr exchange);
Task<void> run_in_context(core::Cay& cay, ExchangePtr exchange);
Task<void> get_evaluation(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> interrupt_context(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> restart_context(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::native
