// The handlers of /process/interpreter: Python that keeps its variables.
#pragma once
#include "api/common/answer.h"

namespace cay::api::daytona {

Task<http::Response> create_interpreter(core::Cay& cay, ExchangePtr exchange);
// The default one is not in the list.
Task<http::Response> list_interpreters(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_interpreter(core::Cay& cay, ExchangePtr exchange);
// A WebSocket: one request, its events, and its end.
Task<void> interpret(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
