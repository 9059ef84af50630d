// Heads of HTTP/1.1 messages: strict, so that no proxy in front can read one differently
// (RFC 9112; request smuggling). Pure; fuzzed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/message.h"

namespace cay::http {

// How the body that follows a head is delimited.
struct Framing {
  std::optional<std::uint64_t> length;  // Content-Length
  bool chunked = false;
  bool has_body() const { return chunked || length.value_or(0) > 0; }
};

struct ParsedRequest {
  RequestHead head;  // without scheme and peer
  Framing framing;
  bool http10 = false;
  bool keep_alive = true;
  bool expects_continue = false;
};

struct ParsedResponse {
  int status = 0;
  Headers headers;
  Framing framing;  // of the headers alone: the request's method and the status matter too
  bool http10 = false;
  bool keep_alive = true;
};

// Why a head is refused: the status to answer, and a sentence for the sender.
struct BadHead {
  int status = 400;
  std::string message;
};

// Length of the head at the start of `bytes`, its final blank line included; 0: not complete.
std::size_t find_head_end(std::string_view bytes);

// `bytes` is exactly one head with its final blank line.
std::variant<ParsedRequest, BadHead> parse_request_head(std::string_view bytes);
std::variant<ParsedResponse, BadHead> parse_response_head(std::string_view bytes);

// Whether a head asks for a WebSocket: `Upgrade: websocket` and `Connection: upgrade`.
bool asks_for_websocket(const Headers& headers);

}  // namespace cay::http
