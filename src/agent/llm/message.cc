#include "agent/llm/message.h"

#include <array>
#include <optional>
#include <string_view>

#include "codec/base64.h"
#include "codec/lenient.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

constexpr std::array<std::string_view, 4> kRoles{"system", "user", "assistant", "tool"};

Error bad_message(const std::string& why) {
  return {Code::kInvalidArgument, "bad_message", "this is no message of a thread: " + why, 0};
}

json::object block_json(const Text& block) {
  return {{"type", "text"}, {"text", codec::text(block.text)}};
}
json::object block_json(const Media& block) {
  return {
      {"type", "media"}, {"mime", codec::text(block.mime)}, {"base64", codec::base64(block.bytes)}};
}
json::object block_json(const Thinking& block) {
  json::object out{{"type", "thinking"}, {"text", codec::text(block.text)}};
  if (!block.signature.empty()) out["signature"] = codec::text(block.signature);
  return out;
}

Result<Block> block_from(const json::value& value) {
  if (!value.is_object()) return bad_message("a block is not an object");
  const json::object& in = value.get_object();
  const std::string type = codec::string_at(in, "type");
  if (type == "text") return Block(Text{codec::string_at(in, "text")});
  if (type == "thinking")
    return Block(Thinking{codec::string_at(in, "text"), codec::string_at(in, "signature")});
  if (type != "media") return bad_message("a block has the type '" + type + "'");
  auto bytes = codec::from_base64(codec::string_at(in, "base64"));
  if (!bytes) return bad_message("its base64 is broken");
  return Block(Media{codec::string_at(in, "mime"), *std::move(bytes)});
}

Result<const json::array*> array_at(const json::object& in, std::string_view name) {
  static const json::array kNone;
  const json::value* found = in.if_contains(name);
  if (found == nullptr || found->is_null()) return &kNone;
  if (!found->is_array()) return bad_message("'" + std::string(name) + "' is not a list");
  return &found->get_array();
}

std::optional<Role> role_from(std::string_view name) {
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (kRoles.at(i) == name) return static_cast<Role>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string Message::text() const {
  std::string out;
  for (const Block& block : blocks) {
    if (const auto* text = std::get_if<Text>(&block)) out += text->text;
  }
  return out;
}

Message Message::of(Role role, std::string text) {
  Message message;
  message.role = role;
  message.blocks.emplace_back(Text{std::move(text)});
  return message;
}

Usage& Usage::operator+=(const Usage& other) {
  input += other.input;
  output += other.output;
  cache_read += other.cache_read;
  cache_write += other.cache_write;
  return *this;
}

json::object to_json(const Message& message) {
  json::object out{{"role", std::string(kRoles.at(static_cast<std::size_t>(message.role)))}};
  json::array blocks;
  for (const Block& block : message.blocks)
    blocks.emplace_back(std::visit([](const auto& one) { return block_json(one); }, block));
  out["blocks"] = std::move(blocks);
  if (!message.calls.empty()) {
    json::array calls;
    for (const ToolCall& call : message.calls)
      calls.emplace_back(json::object{{"id", codec::text(call.id)},
                                      {"name", codec::text(call.name)},
                                      {"arguments", codec::text(call.arguments)}});
    out["calls"] = std::move(calls);
  }
  if (!message.call_id.empty()) out["call_id"] = codec::text(message.call_id);
  if (!message.tool.empty()) out["tool"] = codec::text(message.tool);
  if (message.failed) out["failed"] = true;
  return out;
}

Result<Message> message_from_json(const json::object& value) {
  Message out;
  const std::string role = codec::string_at(value, "role");
  const auto known = role_from(role);
  if (!known) return bad_message("its role is '" + role + "'");
  out.role = *known;
  CAY_TRY(const json::array* blocks, array_at(value, "blocks"));
  for (const json::value& one : *blocks) {
    CAY_TRY(Block block, block_from(one));
    out.blocks.push_back(std::move(block));
  }
  CAY_TRY(const json::array* calls, array_at(value, "calls"));
  for (const json::value& one : *calls) {
    if (!one.is_object()) return bad_message("a call is not an object");
    const json::object& call = one.get_object();
    out.calls.push_back({codec::string_at(call, "id"), codec::string_at(call, "name"),
                         codec::string_at(call, "arguments")});
  }
  out.call_id = codec::string_at(value, "call_id");
  out.tool = codec::string_at(value, "tool");
  out.failed = codec::bool_at(value, "failed");
  return out;
}

json::object to_json(const Usage& usage) {
  return {{"input", usage.input},
          {"output", usage.output},
          {"cache_read", usage.cache_read},
          {"cache_write", usage.cache_write}};
}

}  // namespace cay::agent
