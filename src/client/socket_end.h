// How a WebSocket ended, in words: what its close code means, and what to do about it.
#pragma once
#include "base/error.h"
#include "http/exchange.h"

namespace cay::client {

// `closed` is a kClosed. kUnavailable "connection_lost": another connection is worth a try. The
// other errors would come again: "body_too_large", "connection_ended", "bad_frame".
Error error_of_end(const http::WsMessage& closed);

}  // namespace cay::client
