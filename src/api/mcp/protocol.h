// The methods of MCP that need no tool, and what differs between the versions of the protocol.
#pragma once
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/mcp/json_rpc.h"
#include "http/message.h"
#include "model/principal.h"

namespace cay::api::mcp {

// How one request is spoken. Since 2026-07-28 each request states its version and there are no
// sessions: a client cancels a request by closing its response.
struct Dialect {
  std::string version;
  bool stateless = false;       // 2026-07-28 and later
  bool allows_batches = false;  // 2025-03-26 alone
};

// The oldest version with this transport, which clients mean that name none.
inline constexpr std::string_view kUnnamedVersion = "2025-03-26";

// Returns the dialect of a POST, by its header and, if it is one message, by what that states.
// Fails with the versions that the server speaks, or with a header that contradicts the message.
std::variant<Dialect, RpcError> dialect_of(const http::Headers& headers, const Message* message);

// The result of `initialize`: the client's version if the server speaks it, else the newest that
// begins with a handshake.
json::object initialized(const Message& message, const std::string& server_version);
// The result of `server/discover`.
json::object discovered(const std::string& server_version);
// The result of `tools/list`: the tools that the key's scope allows.
json::object listed_tools(const Principal& who);

// Completes a result for the dialect.
json::object in_dialect(json::object result, const Dialect& dialect);
// The HTTP status of a response with an error. Clients of older versions take any status but 200
// for a failure of the transport.
int status_of(int code, const Dialect& dialect);

// Returns the client's progress token, or null if it has none.
json::value progress_token_of(const Message& message);

}  // namespace cay::api::mcp
