#include "agent/acp/updates.h"

#include <utility>

namespace cay::agent::acp {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostShown = 16 * 1024;  // of a result; the model has all of it

std::string text_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

Message message_in(const json::object& data) {
  const json::value* value = data.if_contains("message");
  const json::object* object = value == nullptr ? nullptr : value->if_object();
  if (object == nullptr) return {};
  auto message = message_from_json(*object);
  return message ? *std::move(message) : Message{};
}

json::object text_block(std::string_view text) {
  return {{"type", "text"}, {"text", codec::text(text)}};
}

json::object chunk(std::string_view kind, std::string_view text) {
  return {{"sessionUpdate", kind}, {"content", text_block(text)}};
}

json::object content_of(std::string_view text) {
  return {{"type", "content"}, {"content", text_block(text)}};
}

std::string_view kind_of(std::string_view tool) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"ls", "read"},           {"read_file", "read"},  {"write_file", "edit"},
      {"edit_file", "edit"},    {"delete", "delete"},   {"glob", "search"},
      {"grep", "search"},       {"execute", "execute"}, {"run_code", "execute"},
      {"write_todos", "think"}, {"web_fetch", "fetch"}, {"web_search", "fetch"}};
  for (const auto& [name, kind] : kKinds) {
    if (name == tool) return kind;
  }
  return "other";
}

std::string first_line(const std::string& text) {
  constexpr std::size_t kLongest = 120;
  std::string out = text.substr(0, text.find('\n'));
  if (out.size() > kLongest || out.size() < text.size()) out = out.substr(0, kLongest) + "…";
  return out;
}

std::string title_of(const std::string& tool, const json::object& arguments) {
  for (const char* name : {"command", "file_path", "path", "pattern", "description", "url"}) {
    const std::string value = text_in(arguments, name);
    if (!value.empty()) return tool + " " + first_line(value);
  }
  return tool;
}

// The plan of a write_todos call. Empty: its arguments are none.
json::object plan_of(const json::object& arguments) {
  const json::value* todos = arguments.if_contains("todos");
  if (todos == nullptr || !todos->is_array()) return {};
  json::array entries;
  for (const json::value& item : todos->get_array()) {
    if (!item.is_object()) continue;
    std::string status = text_in(item.get_object(), "status");
    if (status != "in_progress" && status != "completed") status = "pending";
    entries.push_back(json::object{{"content", text_in(item.get_object(), "content")},
                                   {"priority", "medium"},
                                   {"status", status}});
  }
  return {{"sessionUpdate", "plan"}, {"entries", std::move(entries)}};
}

json::array changes_of(const std::string& tool, const json::object& arguments) {
  const std::string path = text_in(arguments, "file_path");
  if (tool == "write_file") {
    return {json::object{{"type", "diff"},
                         {"path", path},
                         {"oldText", nullptr},
                         {"newText", text_in(arguments, "content")}}};
  }
  if (tool == "edit_file") {
    return {json::object{{"type", "diff"},
                         {"path", path},
                         {"oldText", text_in(arguments, "old_string")},
                         {"newText", text_in(arguments, "new_string")}}};
  }
  return {};
}

std::vector<json::object> of_assistant(const json::object& data, bool streamed) {
  const Message message = message_in(data);
  std::vector<json::object> out;
  const std::string text = message.text();
  if (!streamed && !text.empty()) out.push_back(chunk("agent_message_chunk", text));
  for (const ToolCall& call : message.calls) {
    json::object update = tool_call(call);
    update["sessionUpdate"] = "tool_call";
    update["status"] = "pending";
    out.push_back(std::move(update));
    if (call.name != "write_todos") continue;
    const auto arguments = codec::parse_object(call.arguments);
    json::object plan = arguments ? plan_of(*arguments) : json::object();
    if (!plan.empty()) out.push_back(std::move(plan));
  }
  return out;
}

json::object of_ended(const json::object& data) {
  const Message message = message_in(data);
  std::string text = message.text();
  if (text.size() > kMostShown)
    text = text.substr(0, kMostShown) + "\n… " + std::to_string(text.size() - kMostShown) +
           " more bytes";
  json::object out{{"sessionUpdate", "tool_call_update"},
                   {"toolCallId", text_in(data, "call_id")},
                   {"status", message.failed ? "failed" : "completed"}};
  // A change of a file is shown as such already.
  const bool changed = !message.failed && kind_of(message.tool) == "edit";
  if (!text.empty() && !changed) out["content"] = json::array{content_of(text)};
  if (const json::value* artifact = data.if_contains("artifact"); artifact != nullptr)
    out["rawOutput"] = *artifact;
  return out;
}

}  // namespace

json::object tool_call(const ToolCall& call) {
  const auto parsed = codec::parse_object(call.arguments, codec::Empty::kIsObject);
  const json::object arguments = parsed ? *parsed : json::object();
  json::object out{{"toolCallId", call.id},
                   {"title", codec::text(title_of(call.name, arguments))},
                   {"kind", kind_of(call.name)},
                   {"rawInput", arguments}};
  if (json::array changes = changes_of(call.name, arguments); !changes.empty())
    out["content"] = std::move(changes);
  if (const std::string path = text_in(arguments, "file_path"); !path.empty())
    out["locations"] = json::array{json::object{{"path", path}}};
  return out;
}

std::vector<json::object> updates_of(const ThreadEvent& event, bool streamed) {
  if (event.type == "assistant_message") return of_assistant(event.data, streamed);
  if (event.type == "tool_started") {
    return {{{"sessionUpdate", "tool_call_update"},
             {"toolCallId", text_in(event.data, "call_id")},
             {"status", "in_progress"}}};
  }
  if (event.type == "tool_ended") return {of_ended(event.data)};
  if (event.type == "sandbox_lost") {
    return {chunk("agent_message_chunk",
                  "\n\nThe sandbox is lost: " + text_in(event.data, "reason") + "\n")};
  }
  return {};
}

std::vector<json::object> former_updates_of(const ThreadEvent& event) {
  if (event.type != "user_message") return updates_of(event, false);
  return {chunk("user_message_chunk", message_in(event.data).text())};
}

json::object update_of(const Delta& delta) {
  if (delta.text.empty()) return {};
  if (delta.kind == Delta::Kind::kText) return chunk("agent_message_chunk", delta.text);
  if (delta.kind == Delta::Kind::kThinking) return chunk("agent_thought_chunk", delta.text);
  return {};
}

std::string stop_reason(const json::object& run_ended) {
  const std::string state = text_in(run_ended, "state");
  const std::string reason = text_in(run_ended, "reason");
  if (state == "cancelled") return "cancelled";
  if (state == "limit") return reason == "tokens" ? "max_tokens" : "max_turn_requests";
  if (reason == "refused") return "refusal";
  return "end_turn";
}

}  // namespace cay::agent::acp
