#include "agent/threads/event.h"

#include <array>
#include <utility>

#include "codec/time.h"

namespace cay::agent {
namespace {

// A program that reads events ignores types and members that it does not list. A member is never
// renamed, and never changes its meaning.
constexpr std::array<EventType, 21> kTypes = {{
    {"thread_created", "model system_prompt provider parent? parent_call? subagent?"},
    // The part of the system prompt that came from the sandbox: skills and memory.
    {"instructions", "text"},
    // A subagent gets a sandbox of its own. `source`: the one of which it is a copy.
    {"sandbox_requested", "provider claim source?"},
    {"sandbox_bound", "provider id claim replaces? checkpoint?"},
    {"sandbox_lost", "id reason message checkpoint?"},
    {"sandbox_restored", "checkpoint"},
    // `path`: the model sees a preview, and the file there has the whole text. `note`: the harness
    // wrote it.
    {"user_message", "message path? note?"},
    {"run_started", "run resumed?"},
    {"model_called", "run model tokens_estimated"},
    {"assistant_message", "run message usage cost? stop model"},
    {"approval_requested", "run calls"},
    {"approval_given", "run decisions"},
    {"tool_started", "run call_id name execution_id attempt"},
    {"tool_ended", "run call_id message artifact?"},
    // The run was stopped, and the command could not be ended: it may go on.
    {"tool_left", "run call_id execution_id reason message"},
    // A subagent's call has no result, because its run or its process ended first. `usage` is all
    // that its thread has spent.
    {"subagent_spent", "run call_id thread usage cost?"},
    // `kind`: summary, arguments (long arguments are cut) or results (long results are cut).
    {"compacted", "run before_seq kind summary path usage? cost?"},
    {"checkpoint", "name sandbox"},
    {"rewound", "to_seq checkpoint? exact?"},
    {"forked", "from to_seq"},
    {"run_ended", "run state reason? message? text structured? usage cost? steps"},
}};

Error bad_event(const std::string& what) {
  return Error{Code::kInvalidArgument, "bad_event", "not an event of a thread: " + what, 0};
}

}  // namespace

std::span<const EventType> event_types() { return kTypes; }

codec::json::object to_json(const ThreadEvent& event) {
  codec::json::object out;
  out["seq"] = event.seq;
  out["type"] = event.type;
  out["at"] = codec::rfc3339(event.at_ms);
  for (const auto& [name, value] : event.data) out[name] = value;
  return out;
}

std::string to_line(const ThreadEvent& event) { return codec::write(to_json(event)); }

Result<ThreadEvent> event_from_json(const codec::json::object& value) {
  const auto* seq = value.if_contains("seq");
  const auto* type = value.if_contains("type");
  const auto* at = value.if_contains("at");
  if (seq == nullptr || type == nullptr || at == nullptr || !type->is_string() ||
      !at->is_string()) {
    return bad_event("it needs seq, type and at");
  }
  ThreadEvent out;
  if (const auto* number = seq->if_int64(); number != nullptr && *number > 0) {
    out.seq = static_cast<std::uint64_t>(*number);
  } else if (const auto* large = seq->if_uint64()) {
    out.seq = *large;
  } else {
    return bad_event("seq is a number from 1");
  }
  const auto time = codec::from_rfc3339(std::string(at->get_string()));
  if (!time) return bad_event("at is a time of RFC 3339");
  out.at_ms = *time;
  out.type = std::string(type->get_string());
  out.data = value;
  for (const char* name : {"seq", "type", "at"}) out.data.erase(name);
  return out;
}

}  // namespace cay::agent
