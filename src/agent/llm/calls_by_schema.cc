#include "agent/llm/calls_by_schema.h"

#include <algorithm>
#include <utility>

#include "agent/llm/content.h"
#include "agent/llm/reply_builder.h"
#include "codec/lenient.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

constexpr std::uint64_t kSmallWindow = 16'000;  // tokens; models with less have little sense

json::object object_schema(json::object members) {
  json::array required;
  for (const auto& member : members) required.emplace_back(member.key());
  return {{"type", "object"},
          {"properties", std::move(members)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

// Long texts and optional arguments confuse a small model. The first sentence of the description
// and the required arguments remain.
ToolSpec shortened(ToolSpec tool) {
  const auto end = tool.description.find(". ");
  if (end != std::string::npos) tool.description.resize(end + 1);
  if (!tool.parameters.contains("required")) return tool;
  const json::object all = codec::object_at(tool.parameters, "properties");
  json::object kept;
  for (const auto& name : tool.parameters.at("required").as_array()) {
    if (const auto* member = all.if_contains(name.as_string())) kept[name.as_string()] = *member;
  }
  tool.parameters["properties"] = std::move(kept);
  return tool;
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

bool is_same(const ToolCall& a, const ToolCall& b) {
  return a.name == b.name && arguments_object(a.arguments) == arguments_object(b.arguments);
}

// Whether `reply` makes the call that the conversation's last two messages of the model have made,
// with the same result.
bool is_in_a_loop(const std::vector<Message>& messages, const ModelReply& reply) {
  constexpr std::size_t kTwoCalls = 4;  // messages, with the results
  if (reply.message.calls.size() != 1 || messages.size() < kTwoCalls) return false;
  const auto* last = &messages[messages.size() - kTwoCalls];
  for (std::size_t i = 0; i < kTwoCalls; i += 2) {
    const bool made = last[i].role == Role::kAssistant && last[i].calls.size() == 1 &&
                      is_same(last[i].calls.front(), reply.message.calls.front());
    if (!made || last[i + 1].role != Role::kTool) return false;
  }
  return last[1].blocks == last[3].blocks;
}

// The call as a text: a command alone, and else the tool's name with its arguments.
std::string text_of(const ToolCall& call) {
  const json::object arguments = arguments_object(call.arguments);
  if (arguments.size() == 1 && arguments.begin()->value().is_string())
    return "`" + codec::string_at(arguments, arguments.begin()->key()) + "`";
  return call.name + " with " + codec::write(arguments);
}

// Passes the thoughts of an answer that is JSON. Its text is not the answer yet.
OnDelta thoughts_of(const OnDelta& on_delta) {
  return [on_delta](const Delta& delta) {
    const bool passes =
        delta.kind == Delta::Kind::kThinking || delta.kind == Delta::Kind::kRestarted;
    if (passes && on_delta) on_delta(delta);
  };
}

void report(const Message& message, const OnDelta& on_delta) {
  if (!on_delta) return;
  const std::string text = message.text();
  if (!text.empty()) on_delta(Delta{Delta::Kind::kText, text});
  for (const ToolCall& call : message.calls) {
    on_delta(Delta{Delta::Kind::kCallBegin, call.name});
    on_delta(Delta{Delta::Kind::kCallArguments, call.arguments});
  }
}

class CallsBySchema final : public Model {
 public:
  explicit CallsBySchema(std::unique_ptr<Model> model) : model_(std::move(model)) {}

  Task<ModelReply> complete(ModelRequest request, OnDelta on_delta) override {
    if (request.tools.empty()) {
      auto reply = co_await model_->complete(std::move(request), std::move(on_delta));
      co_return reply;
    }
    const Size size = is_small(profile()) ? Size::kSmall : Size::kUsual;
    ModelRequest plain = request_by_schema(request, size);
    auto got = co_await model_->complete(std::move(plain), thoughts_of(on_delta));
    if (!got) co_return got;
    read_by_schema(*got);
    if (!is_in_a_loop(request.messages, *got)) {
      report(got->message, on_delta);
      co_return got;
    }
    auto answer =
        co_await model_->complete(request_for_answer(std::move(request)), std::move(on_delta));
    if (answer) {
      answer->usage += got->usage;
      answer->tries += got->tries;
    }
    co_return answer;
  }
  const ModelProfile& profile() const override { return model_->profile(); }
  const std::string& name() const override { return model_->name(); }

 private:
  std::unique_ptr<Model> model_;
};

}  // namespace

bool is_small(const ModelProfile& profile) {
  return profile.context_tokens != 0 && profile.context_tokens < kSmallWindow;
}

ModelRequest request_by_schema(ModelRequest request, Size size) {
  if (size == Size::kSmall) {
    for (ToolSpec& tool : request.tools) tool = shortened(std::move(tool));
  }
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

ModelRequest request_for_answer(ModelRequest request) {
  ModelRequest out;
  out.response_schema = std::move(request.response_schema);
  std::optional<ToolCall> call;
  std::string former;
  for (Message& message : request.messages) {
    if (message.role == Role::kSystem) continue;
    if (message.role == Role::kUser) {
      out.messages.clear();  // the answer is to the last one
      out.messages.push_back(std::move(message));
    } else if (message.role == Role::kAssistant) {
      if (!message.calls.empty()) call = message.calls.front();
    } else if (call) {
      std::string text = "The result of " + text_of(*call) + " is:\n" + message.text();
      if (text != former) out.messages.push_back(Message::of(Role::kAssistant, text));
      former = std::move(text);
    }
  }
  out.messages.push_back(Message::of(Role::kUser, "Answer with the result, in one sentence."));
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
