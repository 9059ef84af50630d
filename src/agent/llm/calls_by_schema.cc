#include "agent/llm/calls_by_schema.h"

#include <algorithm>
#include <utility>

#include "agent/llm/content.h"
#include "agent/llm/reply_builder.h"
#include "codec/lenient.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

json::object object_schema(json::object members) {
  json::array required;
  for (const auto& member : members) required.emplace_back(member.key());
  return {{"type", "object"},
          {"properties", std::move(members)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

json::object schema_of(const ModelRequest& request) {
  json::array forms;
  for (const ToolSpec& tool : request.tools) {
    json::array names;
    names.emplace_back(codec::text(tool.name));
    json::object members;
    members["tool"] = json::object{{"type", "string"}, {"enum", std::move(names)}};
    members["arguments"] = tool.parameters;
    forms.emplace_back(object_schema(std::move(members)));
  }
  json::object members;
  members["answer"] =
      request.response_schema.empty() ? json::object{{"type", "string"}} : request.response_schema;
  forms.emplace_back(object_schema(std::move(members)));
  json::object out;
  out["anyOf"] = std::move(forms);
  return out;
}

std::string prompt_of(const ModelRequest& request) {
  std::string out =
      "Every answer of yours is one JSON object. To use a tool, answer\n"
      "{\"tool\": NAME, \"arguments\": {…}}\n"
      "and wait for its result. When the task is done, answer\n"
      "{\"answer\": TEXT}\n\nThe tools:\n";
  for (const ToolSpec& tool : request.tools) {
    out += "\n## " + tool.name + "\n" + tool.description +
           "\nArguments, as a JSON schema: " + codec::write(tool.parameters) + "\n";
  }
  return out;
}

Message assistant_message(const Message& message) {
  Message out = message;
  for (const ToolCall& call : std::exchange(out.calls, {})) {
    json::object made{{"tool", codec::text(call.name)},
                      {"arguments", arguments_object(call.arguments)}};
    const std::string before = out.text();
    out.blocks.emplace_back(Text{(before.empty() ? "" : "\n") + codec::write(made)});
  }
  return out;
}

Message result_message(Message message) {
  message.role = Role::kUser;
  message.blocks.insert(message.blocks.begin(), Text{"Result of " + message.tool + ":\n"});
  message.tool.clear();
  message.call_id.clear();
  return message;
}

// Servers that enforce no schema let models write words around the object.
std::optional<json::object> object_in(const std::string& text) {
  const auto begin = text.find('{');
  const auto end = text.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  auto parsed = codec::parse_object(std::string_view(text).substr(begin, end - begin + 1));
  if (!parsed) return std::nullopt;
  return *std::move(parsed);
}

void replace_text(Message& message, const std::string& text) {
  std::erase_if(message.blocks,
                [](const Block& block) { return std::holds_alternative<Text>(block); });
  if (!text.empty()) message.blocks.emplace_back(Text{text});
}

class CallsBySchema final : public Model {
 public:
  explicit CallsBySchema(std::unique_ptr<Model> model) : model_(std::move(model)) {}

  Task<ModelReply> complete(ModelRequest request, OnDelta on_delta) override {
    if (request.tools.empty()) {
      auto reply = co_await model_->complete(std::move(request), std::move(on_delta));
      co_return reply;
    }
    OnDelta thoughts = [on_delta](const Delta& delta) {
      const bool passes =
          delta.kind == Delta::Kind::kThinking || delta.kind == Delta::Kind::kRestarted;
      if (passes && on_delta) on_delta(delta);
    };
    ModelRequest plain = request_by_schema(std::move(request));
    auto got = co_await model_->complete(std::move(plain), std::move(thoughts));
    if (!got) co_return got;
    read_by_schema(*got);
    if (!on_delta) co_return got;
    const std::string text = got->message.text();
    if (!text.empty()) on_delta(Delta{Delta::Kind::kText, text});
    for (const ToolCall& call : got->message.calls) {
      on_delta(Delta{Delta::Kind::kCallBegin, call.name});
      on_delta(Delta{Delta::Kind::kCallArguments, call.arguments});
    }
    co_return got;
  }
  const ModelProfile& profile() const override { return model_->profile(); }
  const std::string& name() const override { return model_->name(); }

 private:
  std::unique_ptr<Model> model_;
};

}  // namespace

ModelRequest request_by_schema(ModelRequest request) {
  ModelRequest out;
  out.response_schema = schema_of(request);
  const std::string prompt = prompt_of(request);
  const bool has_system =
      !request.messages.empty() && request.messages.front().role == Role::kSystem;
  if (!has_system) out.messages.push_back(Message::of(Role::kSystem, prompt));
  for (Message& message : request.messages) {
    const bool is_first = out.messages.empty();
    if (message.role == Role::kAssistant) {
      out.messages.push_back(assistant_message(message));
    } else if (message.role == Role::kTool) {
      out.messages.push_back(result_message(std::move(message)));
    } else {
      out.messages.push_back(std::move(message));
    }
    if (is_first) out.messages.back().blocks.emplace_back(Text{"\n\n" + prompt});
  }
  return out;
}

void read_by_schema(ModelReply& reply) {
  const auto object = object_in(reply.message.text());
  if (!object || !reply.message.calls.empty()) return;
  const std::string tool = codec::string_at(*object, "tool");
  if (!tool.empty()) {
    replace_text(reply.message, "");
    reply.message.calls.push_back(
        {new_call_id(), tool, codec::write(codec::object_at(*object, "arguments"))});
    if (reply.stop == StopReason::kEnd) reply.stop = StopReason::kToolCalls;
    return;
  }
  const json::value* answer = object->if_contains("answer");
  if (answer == nullptr) return;
  replace_text(reply.message,
               answer->is_string() ? codec::string_at(*object, "answer") : codec::write(*answer));
}

std::unique_ptr<Model> with_calls_by_schema(std::unique_ptr<Model> model) {
  return std::make_unique<CallsBySchema>(std::move(model));
}

}  // namespace cay::agent
