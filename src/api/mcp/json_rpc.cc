#include "api/mcp/json_rpc.h"

#include <utility>

namespace cay::api::mcp {
namespace {

RpcError invalid_request(std::string message) {
  return {.code = kInvalidRequest, .message = std::move(message)};
}

std::variant<Message, RpcError> read_parts(const json::object& in, const json::value* id) {
  const json::value* version = in.if_contains("jsonrpc");
  if (version == nullptr || *version != "2.0") return invalid_request("jsonrpc: must be \"2.0\"");
  if (id != nullptr && !is_id(*id)) {
    return invalid_request("id: must be an integer, or a string of at most " +
                           std::to_string(kMostId) + " bytes");
  }
  Message out;
  const json::value* method = in.if_contains("method");
  if (method == nullptr) {
    if (id == nullptr || (!in.contains("result") && !in.contains("error")))
      return invalid_request("method: is needed");
    out.kind = Message::Kind::kResponse;
    out.id = *id;
    return out;
  }
  if (!method->is_string()) return invalid_request("method: must be a string");
  out.method.assign(method->get_string().begin(), method->get_string().end());
  out.kind = id == nullptr ? Message::Kind::kNotification : Message::Kind::kRequest;
  if (id != nullptr) out.id = *id;
  if (const json::value* params = in.if_contains("params")) {
    if (!params->is_object())
      return RpcError{.code = kInvalidParams, .message = "params: must be an object"};
    out.params = params->get_object();
  }
  return out;
}

}  // namespace

bool is_id(const json::value& value) {
  if (const auto* text = value.if_string()) return text->size() <= kMostId;
  return value.is_int64() || value.is_uint64();
}

Reading read_message(const json::value& in) {
  const json::object* object = in.if_object();
  if (object == nullptr)
    return {nullptr, invalid_request("a message must be an object of JSON-RPC 2.0")};
  const json::value* id = object->if_contains("id");
  Reading out{nullptr, read_parts(*object, id)};
  if (id != nullptr && is_id(*id)) out.id = *id;
  return out;
}

json::object result_message(const json::value& id, json::object result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

json::object error_message(const json::value& id, const RpcError& error) {
  json::object body{{"code", error.code}, {"message", codec::text(error.message)}};
  if (!error.data.is_null()) body["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}};
}

json::object notification(std::string_view method, json::object params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace cay::api::mcp
