// JSON-RPC 2.0 as MCP uses it: reads one message, and writes responses, errors and notifications.
#pragma once
#include <string>
#include <string_view>
#include <variant>

#include "codec/json.h"

namespace cay::api::mcp {

namespace json = codec::json;

// Error codes: JSON-RPC 2.0, section 5.1, and MCP 2026-07-28.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kUnsupportedVersion = -32022;
// The client cancelled the request, so that there is no result. The code is that of the Language
// Server Protocol.
inline constexpr int kRequestCancelled = -32800;

struct RpcError {
  int code = kInternalError;
  std::string message;
  json::value data{};  // null: none
};

struct Message {
  enum class Kind { kRequest, kNotification, kResponse } kind = Kind::kRequest;
  json::value id;  // a string or an integer; null for a notification
  std::string method;
  json::object params;
};

// The result of reading one message. `id` is known even if the rest is wrong, as far as the
// message has a good one, so that the error finds its request.
struct Reading {
  json::value id;
  std::variant<Message, RpcError> got;
};
Reading read_message(const json::value& in);

// The longest text that an id or a progress token may have.
inline constexpr std::size_t kMostId = 256;
// Returns whether `value` may be an id or a progress token: a short string or an integer.
bool is_id(const json::value& value);

json::object result_message(const json::value& id, json::object result);
json::object error_message(const json::value& id, const RpcError& error);
json::object notification(std::string_view method, json::object params);

}  // namespace cay::api::mcp
