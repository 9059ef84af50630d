// Commands as LangSmith's clients run them: over a WebSocket (protocol reference, section 4) and,
// for clients without one, in one POST (4.9).
#pragma once
#include "api/langsmith/config.h"
#include "api/langsmith/offset_index.h"

namespace cay::api::langsmith {

// GET {dataplane}/execute/ws
http::Handler execute_ws(core::Cay& cay, OffsetIndex& offsets, std::shared_ptr<InputRoom> room);
// POST {dataplane}/execute
Task<http::Response> execute(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::langsmith
