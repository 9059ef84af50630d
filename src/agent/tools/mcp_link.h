// McpLink: requests of JSON-RPC 2.0 to one MCP server.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "async/task.h"
#include "codec/json.h"

namespace cay::agent {

class McpLink {
 public:
  virtual ~McpLink() = default;
  // Returns the result. Fails kInvalidArgument (mcp_refused) with the server's own error, and
  // kUnavailable (mcp_failed) if it is gone or its answer is none.
  virtual Task<codec::json::object> request(std::string method, codec::json::object params) = 0;
  virtual Task<void> notify(std::string method) = 0;
};

// The protocol's messages. Pure.
codec::json::object mcp_request(std::uint64_t id, std::string_view method,
                                codec::json::object params);
Result<codec::json::object> mcp_result(const codec::json::object& answer);
Error mcp_failed(std::string_view why);
// The answer to a server's own request: of a ping, or that the method is unknown.
codec::json::object mcp_answer(const codec::json::object& request);
// Whether a message is the answer to the request `id`.
bool mcp_answers(const codec::json::object& message, std::uint64_t id);

// Fails kInvalidArgument (bad_mcp_config), kUnavailable (mcp_failed).
Result<std::shared_ptr<McpLink>> mcp_child(asio::any_io_executor executor,
                                           const codec::json::object& config);
Result<std::shared_ptr<McpLink>> mcp_over_http(asio::any_io_executor executor,
                                               const codec::json::object& config);

}  // namespace cay::agent
