// Commands over server-sent events (protocol reference, section 4.10). Offsets are over raw bytes,
// and a response ends whenever an acknowledgement is due: the client's next request brings it.
#pragma once
#include "api/langsmith/config.h"

namespace cay::api::langsmith {

struct StreamSettings {
  Millis heartbeat{15'000};
};

// POST {dataplane}/execute/stream/start. Get-or-create by command_id, from the first byte.
Task<void> start_stream(core::Cay& cay, StreamSettings settings, ExchangePtr exchange);
// POST {dataplane}/execute/stream/resume
Task<void> resume_stream(core::Cay& cay, StreamSettings settings, ExchangePtr exchange);
// 404 CommandNotFound, 409 TransportMismatch, else as POST /execute.
http::Response stream_error(const Error& error, const std::string& error_id);

}  // namespace cay::api::langsmith
