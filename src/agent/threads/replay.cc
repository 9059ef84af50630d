#include "agent/threads/replay.h"

#include <algorithm>
#include <utility>

namespace cay::agent {
namespace {

namespace json = codec::json;

std::string text_of(const json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t number_of(const json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  if (value == nullptr) return 0;
  if (const auto* number = value->if_uint64()) return *number;
  const auto* number = value->if_int64();
  return number != nullptr && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

const json::object* object_of(const json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

std::optional<Message> message_of(const json::object& from) {
  const auto* value = object_of(from, "message");
  if (value == nullptr) return std::nullopt;
  auto got = message_from_json(*value);
  if (!got) return std::nullopt;
  return *std::move(got);
}

CallState* call_of(ThreadState& state, const std::string& id) {
  for (auto& call : state.calls) {
    if (call.call.id == id) return &call;
  }
  return nullptr;
}

void on_created(ThreadState& state, const ThreadEvent& event) {
  state.created = true;
  state.model = text_of(event.data, "model");
  state.system_prompt = text_of(event.data, "system_prompt");
  state.provider = text_of(event.data, "provider");
  state.parent = text_of(event.data, "parent");
  state.parent_call = text_of(event.data, "parent_call");
}

void on_user(ThreadState& state, const ThreadEvent& event) {
  state.child_calls.clear();
  if (!event.data.contains("note")) state.text.clear();
  if (auto message = message_of(event.data)) {
    state.conversation.push_back({event.seq, *std::move(message), text_of(event.data, "path")});
  }
}

void on_assistant(ThreadState& state, const ThreadEvent& event) {
  auto message = message_of(event.data);
  if (!message) return;
  const Usage usage = spending_in(event.data).usage;
  if (auto text = message->text(); !text.empty()) state.text = std::move(text);
  state.stop = text_of(event.data, "stop");
  ++state.run.steps;
  state.calls.clear();
  state.calls_seq = event.seq;
  for (const auto& call : message->calls) {
    CallState made;
    made.call = call;
    state.calls.push_back(std::move(made));
  }
  state.conversation.push_back({event.seq, *std::move(message), {}});
  if (usage.input == 0) return;
  state.counted = state.conversation.size();
  state.counted_tokens = usage.input + usage.output;
}

// The results go into the conversation when the last one is there, in the order of the calls.
void on_ended(ThreadState& state, const ThreadEvent& event) {
  auto* call = call_of(state, text_of(event.data, "call_id"));
  auto message = message_of(event.data);
  if (call == nullptr || !message) return;
  call->result = *std::move(message);
  const bool all = std::ranges::all_of(state.calls, [](const auto& c) { return !!c.result; });
  if (!all) return;
  for (auto& done : state.calls) {
    state.conversation.push_back({state.calls_seq, *std::move(done.result), {}});
  }
  state.calls.clear();
}

void on_started(ThreadState& state, const ThreadEvent& event) {
  auto* call = call_of(state, text_of(event.data, "call_id"));
  if (call == nullptr) return;
  call->started = true;
  call->execution_id = text_of(event.data, "execution_id");
  call->attempt = number_of(event.data, "attempt");
}

const json::array* array_of(const json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  return value == nullptr ? nullptr : value->if_array();
}

void on_requested(ThreadState& state, const ThreadEvent& event) {
  const auto* calls = array_of(event.data, "calls");
  if (calls == nullptr) return;
  for (const auto& value : *calls) {
    if (!value.is_object()) continue;
    const auto& request = value.get_object();
    auto child = text_of(request, "thread");
    if (!child.empty()) {
      state.child_calls.push_back({std::move(child), text_of(request, "child_call_id"),
                                   text_of(request, "name"), text_of(request, "arguments")});
    } else if (auto* call = call_of(state, text_of(request, "call_id"))) {
      call->requested = true;
    }
  }
}

// The conversation has an edited call as it ran.
void edit(ThreadState& state, CallState& call, const std::string& arguments) {
  call.call.arguments = arguments;
  for (auto entry = state.conversation.rbegin(); entry != state.conversation.rend(); ++entry) {
    if (entry->message.role != Role::kAssistant) continue;
    for (auto& made : entry->message.calls) {
      if (made.id == call.call.id) made.arguments = arguments;
    }
    return;
  }
}

void on_given(ThreadState& state, const ThreadEvent& event) {
  const auto* decisions = array_of(event.data, "decisions");
  state.child_calls.clear();
  if (decisions == nullptr) return;
  for (const auto& value : *decisions) {
    if (!value.is_object()) continue;
    const auto& decision = value.get_object();
    auto* call = call_of(state, text_of(decision, "call_id"));
    if (call == nullptr) continue;
    call->decision = text_of(decision, "type");
    call->note = text_of(decision, "message");
    call->approved = call->decision == "approve" || call->decision == "edit";
    if (call->decision == "edit") edit(state, *call, text_of(decision, "arguments"));
  }
}

void on_compacted(ThreadState& state, const ThreadEvent& event) {
  const auto kind = text_of(event.data, "kind");
  const auto before = number_of(event.data, "before_seq");
  state.counted = 0;
  if (kind == "arguments") {
    state.arguments_before = before;
  } else if (kind == "results") {
    state.results_before = before;
  } else {
    state.compaction = {before, text_of(event.data, "summary"), text_of(event.data, "path")};
  }
}

void on_run_started(ThreadState& state, const ThreadEvent& event) {
  auto id = text_of(event.data, "run");
  if (id != state.run.id) state.run = RunAccount{};
  state.run.id = std::move(id);
  state.run.active = true;
  state.run.state.clear();
  state.run.reason.clear();
}

void on_run_ended(ThreadState& state, const ThreadEvent& event) {
  state.run.active = false;
  state.run.ended_seq = event.seq;
  state.run.state = text_of(event.data, "state");
  state.run.reason = text_of(event.data, "reason");
}

// A fork continues with a copy of the sandbox. The outcome of calls that ran is unknown to it.
void on_forked(ThreadState& state) {
  if (state.sandbox) state.fork_of = state.sandbox->id;
  state.sandbox.reset();
  for (auto& call : state.calls) call.unknown = call.started;
}

void apply_conversation(ThreadState& state, const ThreadEvent& event) {
  const auto& type = event.type;
  if (type == "user_message") on_user(state, event);
  if (type == "assistant_message") on_assistant(state, event);
  if (type == "tool_started") on_started(state, event);
  if (type == "tool_ended") on_ended(state, event);
  if (type == "approval_requested") on_requested(state, event);
  if (type == "approval_given") on_given(state, event);
  if (type == "compacted") on_compacted(state, event);
  if (type == "run_started") on_run_started(state, event);
  if (type == "run_ended") on_run_ended(state, event);
}

void spend(ThreadState& state, const Spending& more, bool in_run) {
  state.spent += more;
  if (in_run) state.run.spent += more;
}

// `data` has all that a subagent has spent so far. An earlier event may have had a part of it.
void spend_by_subagent(ThreadState& state, const std::string& thread, const json::object& data,
                       bool in_run) {
  const Spending total = spending_in(data);
  if (thread.empty()) {
    spend(state, total, in_run);
    return;
  }
  Spending& known = state.subagents[thread];
  spend(state, beyond(total, known), in_run);
  known = total;
}

// The sandbox and the cost are what they are, whatever the conversation was rewound to.
void apply_account(ThreadState& state, const ThreadEvent& event, bool in_run) {
  const auto& type = event.type;
  const auto& data = event.data;
  state.last_seq = event.seq;
  if (type == "thread_created") on_created(state, event);
  if (type == "instructions") state.instructions = text_of(data, "text");
  if (type == "sandbox_requested") {
    state.requested = {text_of(data, "claim"), text_of(data, "source")};
  }
  if (type == "sandbox_bound") {
    state.requested.reset();
    state.sandbox = {text_of(data, "provider"), text_of(data, "id"), text_of(data, "claim"), false};
    state.fork_of.clear();
  }
  if (type == "sandbox_lost" && state.sandbox) state.sandbox->lost = true;
  if (type == "sandbox_restored") state.restore.clear();
  if (type == "checkpoint") state.checkpoints.push_back({event.seq, text_of(data, "name")});
  if (type == "rewound") state.restore = text_of(data, "checkpoint");
  if (type == "tool_started") state.tool_seqs.push_back(event.seq);
  if (type == "forked") on_forked(state);
  const bool has_usage = object_of(data, "usage") != nullptr;
  if (type == "assistant_message") spend(state, spending_in(data), in_run);
  if (type == "compacted" && has_usage) spend(state, spending_in(data), in_run);
  if (type == "subagent_spent") spend_by_subagent(state, text_of(data, "thread"), data, in_run);
  if (type != "tool_ended") return;
  const auto* artifact = object_of(data, "artifact");
  if (artifact != nullptr && object_of(*artifact, "usage") != nullptr) {
    spend_by_subagent(state, text_of(*artifact, "thread"), *artifact, in_run);
  }
}

}  // namespace

bool ThreadState::open() const {
  if (run.active) return true;
  return !conversation.empty() && conversation.back().message.role == Role::kUser &&
         conversation.back().seq > run.ended_seq;
}

void apply(ThreadState& state, const ThreadEvent& event) {
  apply_conversation(state, event);
  apply_account(state, event, true);
}

ThreadState replay(const std::vector<ThreadEvent>& events) {
  std::vector<std::uint64_t> kept;
  for (const auto& event : events) {
    if (event.type == "rewound") {
      const auto to = number_of(event.data, "to_seq");
      while (!kept.empty() && kept.back() > to) kept.pop_back();
    } else {
      kept.push_back(event.seq);
    }
  }
  ThreadState state;
  for (const auto& event : events) {
    const bool in_conversation = std::ranges::binary_search(kept, event.seq);
    if (in_conversation) apply_conversation(state, event);
    apply_account(state, event, in_conversation);
  }
  return state;
}

}  // namespace cay::agent
