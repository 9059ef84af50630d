#include "agent/tools/mcp_link.h"

#include <utility>

namespace cay::agent {

namespace json = codec::json;

json::object mcp_request(std::uint64_t id, std::string_view method, json::object params) {
  json::object out{{"jsonrpc", "2.0"}, {"method", method}};
  if (id != 0) out["id"] = id;
  if (!params.empty()) out["params"] = std::move(params);
  return out;
}

Error mcp_failed(std::string_view why) {
  return {Code::kUnavailable, "mcp_failed", std::string(why)};
}

Result<json::object> mcp_result(const json::object& answer) {
  if (const auto* error = answer.if_contains("error"); error != nullptr && error->is_object()) {
    const auto* message = error->get_object().if_contains("message");
    const bool named = message != nullptr && message->is_string();
    return Error{Code::kInvalidArgument, "mcp_refused",
                 named ? std::string(message->get_string()) : codec::write(*error), 0};
  }
  const auto* result = answer.if_contains("result");
  if (result == nullptr || !result->is_object()) {
    return mcp_failed("the server's answer has no result");
  }
  return result->get_object();
}

json::object mcp_answer(const json::object& request) {
  json::object out{{"jsonrpc", "2.0"}, {"id", request.at("id")}};
  const auto* method = request.if_contains("method");
  if (method != nullptr && *method == "ping") {
    out["result"] = json::object{};
  } else {
    out["error"] = json::object{{"code", -32601}, {"message", "this client has no such method"}};
  }
  return out;
}

bool mcp_answers(const json::object& message, std::uint64_t id) {
  const auto* found = message.if_contains("id");
  return found != nullptr && found->is_number() && !message.contains("method") &&
         found->to_number<double>() == static_cast<double>(id);
}

}  // namespace cay::agent
