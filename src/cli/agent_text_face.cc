#include "cli/agent_text_face.h"

#include <cstdint>

#include "agent/llm/message.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

std::string text_member(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

double number_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_number() ? found->to_number<double>() : 0;
}

std::uint64_t count_in(const json::object& from, std::string_view name) {
  const double found = number_in(from, name);
  return found > 0 ? static_cast<std::uint64_t>(found) : 0;
}

const json::object* object_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

agent::Message message_in(const json::object& data) {
  const json::object* value = object_in(data, "message");
  if (value == nullptr) return {};
  auto message = agent::message_from_json(*value);
  return message ? *std::move(message) : agent::Message{};
}

}  // namespace

std::string run_summary(const json::object& data) {
  std::string out = text_member(data, "state");
  const std::string state = out;
  if (const std::string why = text_member(data, "reason"); !why.empty() && why != state)
    out += " (" + why + ")";
  const std::uint64_t steps = count_in(data, "steps");
  out += ": " + grouped(steps) + (steps == 1 ? " step" : " steps");
  if (const json::object* usage = object_in(data, "usage")) {
    out += ", " + grouped(count_in(*usage, "input")) + " tokens in";
    if (const std::uint64_t cached = count_in(*usage, "cache_read"); cached != 0)
      out += " (" + grouped(cached) + " cached)";
    out += ", " + grouped(count_in(*usage, "output")) + " out";
  }
  if (data.contains("cost")) out += ", " + dollars(number_in(data, "cost"));
  return printable(out);
}

TextFace::TextFace(TextFaceOptions options)
    : options_(std::move(options)),
      blocks_([this](std::string_view text) { options_.note(text); }, options_.colour) {}

void TextFace::remember(const agent::ThreadEvent& event) {
  if (event.type != "assistant_message") return;
  for (const agent::ToolCall& call : message_in(event.data).calls)
    asked_[call.id] = {call.name, call.arguments};
}

void TextFace::on_event(const std::string& thread, const agent::ThreadEvent& event) {
  const json::object& data = event.data;
  if (thread != options_.thread) {
    on_subagent(thread, event);
    return;
  }
  if (event.type == "assistant_message") {
    on_assistant(data);
  } else if (event.type == "tool_started") {
    on_tool_started(data);
  } else if (event.type == "tool_ended") {
    on_tool_ended(data);
  } else if (event.type == "sandbox_bound" || event.type == "sandbox_lost") {
    on_sandbox(data);
  } else if (event.type == "compacted" && text_member(data, "kind") == "summary") {
    note("the conversation was long: the model sees a summary of its beginning");
  } else if (event.type == "sandbox_restored") {
    note("the disk is that of checkpoint " + text_member(data, "checkpoint"));
  } else if (event.type == "checkpoint") {
    note("checkpoint " + text_member(data, "name"));
  } else if (event.type == "tool_left") {
    note("a command may still run in the sandbox: " + text_member(data, "message"), Paint::kBad);
  } else if (event.type == "run_ended") {
    on_run_ended(data);
  }
}

void TextFace::on_delta(const std::string& thread, const agent::Delta& delta) {
  if (thread != options_.thread) return;
  if (delta.kind == agent::Delta::Kind::kText) {
    streamed_ = true;
    answer(text_.add(delta.text));
  } else if (delta.kind == agent::Delta::Kind::kRestarted && streamed_) {
    answer(text_.finish());
    streamed_ = false;
    note("the connection to the model broke: this answer begins again");
  }
}

void TextFace::on_tool_output(const std::string& thread, const std::string& call_id,
                              std::string_view bytes) {
  if (thread == options_.thread) blocks_.output(call_id, bytes);
}

void TextFace::on_subagent(const std::string& thread, const agent::ThreadEvent& event) {
  if (event.type == "thread_created") subagents_[thread] = text_member(event.data, "parent_call");
  if (event.type != "assistant_message") return;
  const auto known = subagents_.find(thread);
  if (known == subagents_.end()) return;
  for (const agent::ToolCall& call : message_in(event.data).calls) {
    const std::string arguments = short_arguments(call.name, call.arguments);
    blocks_.output(known->second, "* " + call.name + " " + arguments + "\n");
  }
}

void TextFace::on_assistant(const json::object& data) {
  const agent::Message message = message_in(data);
  answer(text_.finish());
  if (!std::exchange(streamed_, false)) answer(shown_lines(message.text()));
  end_line();
  for (const agent::ToolCall& call : message.calls) asked_[call.id] = {call.name, call.arguments};
  if (text_member(data, "stop") == "refused")
    note("the model's vendor refused to go on", Paint::kBad);
}

void TextFace::on_tool_started(const json::object& data) {
  const std::string id = text_member(data, "call_id");
  end_line();
  const auto known = asked_.find(id);
  blocks_.begin(id, text_member(data, "name"), known == asked_.end() ? "" : known->second.second);
}

void TextFace::on_tool_ended(const json::object& data) {
  const agent::Message message = message_in(data);
  const std::string id = text_member(data, "call_id");
  CallEnd end{.failed = message.failed, .text = message.text()};
  const json::object* artifact = object_in(data, "artifact");
  if (artifact != nullptr && artifact->contains("exit_code"))
    end.exit_code = static_cast<int>(number_in(*artifact, "exit_code"));
  const auto known = asked_.find(id);
  blocks_.end(id, std::move(end));
  if (known != asked_.end()) asked_.erase(known);
}

void TextFace::on_sandbox(const json::object& data) {
  const std::string provider = text_member(data, "provider"), id = text_member(data, "id");
  if (provider == "local") {
    note("no sandbox: commands run on this machine, and nothing is isolated", Paint::kBad);
  } else if (!provider.empty()) {
    note("sandbox " + id + (provider == "cay" ? "" : " of " + provider));
  } else {
    note("sandbox " + id + " is lost: " + text_member(data, "reason"), Paint::kBad);
  }
}

void TextFace::on_run_ended(const json::object& data) {
  answer(text_.finish());
  end_line();
  const bool fine = text_member(data, "state") == "done";
  note(run_summary(data), fine ? Paint::kDim : Paint::kBad);
}

void TextFace::answer(std::string_view text) {
  if (text.empty()) return;
  options_.answer(text);
  in_line_ = !text.ends_with('\n');
}

void TextFace::end_line() {
  if (std::exchange(in_line_, false)) options_.answer("\n");
}

void TextFace::note(std::string_view text, Paint paint) {
  end_line();
  options_.note(painted("cay: " + printable(text), paint, options_.colour) + "\n");
}

}  // namespace cay::cli
