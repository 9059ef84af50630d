// The tunnel (protocol reference, section 5.2): a WebSocket that carries yamux, and in each stream
// one TCP connection into the sandbox.
#pragma once
#include "api/common/answer.h"
#include "core/cay.h"

namespace cay::api::langsmith {

http::Handler tunnel_ws(core::Cay& cay);

}  // namespace cay::api::langsmith
