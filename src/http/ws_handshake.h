// The HTTP side of opening a WebSocket (RFC 6455, 4).
#pragma once
#include <string>
#include <string_view>

#include "http/message.h"

namespace cay::http {

// Sec-WebSocket-Accept for a Sec-WebSocket-Key.
std::string accept_key(std::string_view key);
bool is_websocket_key(std::string_view key);
// A new random Sec-WebSocket-Key.
std::string make_websocket_key();

}  // namespace cay::http
