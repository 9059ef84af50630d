// The handlers of /process/session.
#pragma once
#include "api/common/answer.h"

namespace cay::api::daytona {

Task<http::Response> create_session(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_sessions(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_session(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_session(core::Cay& cay, ExchangePtr exchange);

Task<http::Response> session_exec(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> session_command(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> session_input(core::Cay& cay, ExchangePtr exchange);
// Answers at once, or follows on a WebSocket.
Task<void> session_logs(core::Cay& cay, ExchangePtr exchange);

// Cay's init only waits, and starts no program of the image. So the session has no output.
Task<http::Response> entrypoint_session(core::Cay& cay, ExchangePtr exchange);
Task<void> entrypoint_logs(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
