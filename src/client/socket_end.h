// error_of_end() turns the close of a WebSocket into an error that explains the close code and has
// the remedy.
#pragma once
#include "base/error.h"
#include "http/exchange.h"

namespace cay::client {

// `closed` is a kClosed. kUnavailable "connection_lost": another connection is worth a try. The
// other errors would come again: "body_too_large", "connection_ended", "bad_frame".
Error error_of_end(const http::WsMessage& closed);

}  // namespace cay::client
