#include "agent/loop/loop.h"

#include <exception>
#include <optional>
#include <set>
#include <utility>

#include "agent/loop/call_runner.h"
#include "agent/loop/compaction.h"
#include "agent/loop/context.h"
#include "agent/loop/sandbox.h"
#include "agent/loop/schema.h"
#include "agent/loop/subagents_spent.h"
#include "async/event.h"

namespace cay::agent {
namespace {

constexpr int kOverflows = 3;        // recoveries of one request
constexpr std::size_t kRepairs = 2;  // requests to mend a structured answer

const char* to_string(StopReason stop) {
  switch (stop) {
    case StopReason::kEnd: return "end";
    case StopReason::kToolCalls: return "tool_calls";
    case StopReason::kLength: return "length";
    case StopReason::kRefused: return "refused";
  }
  return "end";
}

bool is_answered(const ThreadState& state) {
  if (state.conversation.empty()) return true;
  return state.conversation.back().message.role == Role::kAssistant;
}

// The notes of the harness since the last input of the user.
std::size_t notes_since_input(const ThreadState& state, const std::string& begin) {
  std::size_t count = 0;
  for (auto entry = state.conversation.rbegin(); entry != state.conversation.rend(); ++entry) {
    if (entry->message.role != Role::kUser) continue;
    if (!entry->message.text().starts_with(begin)) return count;
    ++count;
  }
  return count;
}

constexpr const char* kRepair = "Your answer is not the JSON that was requested: ";

// Ids that are missing or not unique would part calls from their results.
void name_calls(const ThreadState& state, Message& message) {
  std::set<std::string> used;
  for (const auto& entry : state.conversation) {
    for (const auto& call : entry.message.calls) used.insert(call.id);
  }
  std::size_t index = 0;
  for (auto& call : message.calls) {
    ++index;
    if (!call.id.empty() && used.insert(call.id).second) continue;
    call.id = "call_" + std::to_string(state.last_seq + 1) + "_" + std::to_string(index);
    used.insert(call.id);
  }
}

std::optional<Outcome> met_limit(const Harness& harness) {
  const auto& run = harness.state().run;
  const auto& limits = harness.limits;
  const auto& spent = *harness.meter;
  const auto met = [](const char* which, const std::string& message) {
    return Outcome{RunState::kLimit, which, message, nullptr};
  };
  if (limits.steps != 0 && run.steps >= limits.steps) {
    return met("steps", "the run met its limit of " + std::to_string(limits.steps) + " steps");
  }
  if (limits.tokens != 0 && spent.tokens() >= limits.tokens) {
    return met("tokens", "the run met its limit of " + std::to_string(limits.tokens) + " tokens");
  }
  if (limits.cost > 0 && spent.cost >= limits.cost) {
    return met("cost", "the run met its limit of " + std::to_string(limits.cost) + " US dollars");
  }
  return std::nullopt;
}

ModelRequest request_of(const Harness& harness) {
  ModelRequest request;
  request.messages =
      visible_messages(harness.state(), harness.system_prompt, harness.model->profile());
  request.tools = harness.specs();
  if (notes_since_input(harness.state(), kRepair) > 0) {
    request.response_schema = harness.response_schema;
  }
  return request;
}

Result<void> record_call(Harness& harness) {
  codec::json::object data;
  data["run"] = harness.state().run.id;
  data["model"] = harness.model->name();
  data["tokens_estimated"] = request_tokens(harness.state(), harness.system_prompt,
                                            harness.model->profile(), harness.specs());
  return harness.recorder->record("model_called", std::move(data));
}

Result<void> record_reply(Harness& harness, ModelReply reply) {
  reply.message.role = Role::kAssistant;
  name_calls(harness.state(), reply.message);
  codec::json::object data;
  data["run"] = harness.state().run.id;
  data["message"] = to_json(reply.message);
  harness.count(reply.usage, data);
  data["stop"] = to_string(reply.stop);
  data["model"] = reply.model;
  return harness.recorder->record("assistant_message", std::move(data));
}

// A summary is an answer of the model too, so the limits are compared before each request.
Task<std::optional<Outcome>> call_model(Harness* harness) {
  if (auto limit = met_limit(*harness)) co_return limit;
  CAY_CO_CHECK(co_await keep_within_context(harness));
  for (int overflows = 0;; ++overflows) {
    if (auto limit = met_limit(*harness)) co_return limit;
    CAY_CO_CHECK(record_call(*harness));
    const OnDelta on_delta = [harness](const Delta& delta) {
      harness->recorder->observer().on_delta(harness->recorder->thread(), delta);
    };
    auto request = request_of(*harness);
    auto reply = co_await harness->model->complete(std::move(request), on_delta);
    if (reply) {
      CAY_CO_CHECK(record_reply(*harness, *std::move(reply)));
      co_return std::nullopt;
    }
    const bool overflow = reply.error().reason == "context_overflow";
    if (!overflow || overflows == kOverflows) co_return std::move(reply).error();
    CAY_CO_TRY(const bool smaller, co_await recover_from_overflow(harness, overflows));
    if (!smaller) co_return std::move(reply).error();
  }
}

// An answer without calls. nullopt: the model shall mend it.
Result<std::optional<Outcome>> finished(Harness& harness) {
  const auto& state = harness.state();
  Outcome done;
  if (state.stop == "length") done.reason = "length";
  if (state.stop == "refused") {
    return std::optional(Outcome{RunState::kFailed, "model_refused",
                                 "the model's vendor stopped the answer by its filter", nullptr});
  }
  if (harness.response_schema.empty() || state.conversation.empty()) return std::optional(done);
  auto parsed = json_of_answer(state.conversation.back().message.text());
  auto fault = parsed ? schema_fault(harness.response_schema, *parsed)
                      : std::optional<std::string>("it cannot be parsed");
  if (!fault) {
    done.structured = *std::move(parsed);
    return std::optional(std::move(done));
  }
  if (notes_since_input(state, kRepair) >= kRepairs) {
    return std::optional(Outcome{RunState::kFailed, "bad_structured_answer",
                                 "the model's answer does not follow the schema: " + *fault,
                                 nullptr});
  }
  const auto note = kRepair + *fault +
                    ". Answer with that JSON alone, which follows this schema: " +
                    codec::write(harness.response_schema);
  codec::json::object data;
  data["message"] = to_json(Message::of(Role::kUser, note));
  data["note"] = true;
  CAY_CHECK(harness.recorder->record("user_message", std::move(data)));
  return std::optional<Outcome>();
}

Task<Outcome> drive(Harness* harness) {
  for (;;) {
    if (!harness->state().calls.empty()) {
      CAY_CO_TRY(auto stopped, co_await run_calls(harness));
      if (stopped) co_return *std::move(stopped);
      continue;
    }
    if (is_answered(harness->state())) {
      CAY_CO_TRY(auto end, finished(*harness));
      if (end) co_return *std::move(end);
    }
    CAY_CO_TRY(auto limit, co_await call_model(harness));
    if (limit) co_return *std::move(limit);
  }
}

Result<void> record_end(Harness& harness, const Outcome& outcome) {
  CAY_CHECK(record_subagents(harness));
  const auto& state = harness.state();
  codec::json::object data;
  data["run"] = state.run.id;
  data["state"] = std::string(to_string(outcome.state));
  if (!outcome.reason.empty()) data["reason"] = outcome.reason;
  if (!outcome.message.empty()) data["message"] = outcome.message;
  data["text"] = state.text;
  if (!outcome.structured.is_null()) data["structured"] = outcome.structured;
  data["usage"] = to_json(state.run.spent.usage);
  if (const auto cost = state.run.spent.known_cost()) data["cost"] = *cost;
  data["steps"] = state.run.steps;
  return harness.recorder->record("run_ended", std::move(data));
}

// The end that an Error of infrastructure means. An Error of the log is none.
Result<Outcome> outcome_of(Harness& harness, Error error) {
  if (error.reason == "store_failed") return error;
  if (error.code == Code::kLost) {
    CAY_CHECK(record_lost(harness, error));
    return Outcome{RunState::kSandboxLost, error.reason, error.message, nullptr};
  }
  return Outcome{RunState::kFailed, error.reason, error.message, nullptr};
}

}  // namespace

std::string next_run(const ThreadState& state) {
  return "run-" + std::to_string(state.last_seq + 1);
}

RunResult result_of(const Harness& harness) {
  const auto& state = harness.state();
  RunResult out;
  out.reason = state.run.reason;
  out.text = state.text;
  out.usage = state.run.spent.usage;
  out.cost = state.run.spent.known_cost();
  out.steps = state.run.steps;
  out.thread = harness.recorder->thread();
  for (const auto each : {RunState::kDone, RunState::kFailed, RunState::kCancelled,
                          RunState::kLimit, RunState::kSandboxLost, RunState::kWaiting}) {
    if (to_string(each) == state.run.state) out.state = each;
  }
  for (const auto& call : state.calls) {
    const bool waits = call.requested && call.decision.empty() && !call.result;
    if (waits) out.pending.push_back({call.call.id, call.call.name, call.call.arguments});
  }
  for (const auto& call : state.child_calls) {
    out.pending.push_back({call.thread + "/" + call.call_id, call.name, call.arguments});
  }
  if (!state.checkpoints.empty()) out.checkpoint = state.checkpoints.back().name;
  return out;
}

Task<RunResult> conduct(Harness* harness, std::string run) {
  codec::json::object data;
  if (run == harness->state().run.id) data["resumed"] = true;
  data["run"] = std::move(run);
  CAY_CO_CHECK(harness->recorder->record("run_started", std::move(data)));
  if (!harness->is_subagent) *harness->meter = harness->state().run.spent;
  Result<Outcome> got;
  try {
    got = co_await drive(harness);
  } catch (...) {
    if (!is_cancellation(std::current_exception())) throw;
    const Outcome stopped{harness->stop_state, harness->stop_reason, "the run was stopped",
                          nullptr};
    static_cast<void>(record_end(*harness, stopped));
    throw;
  }
  if (!got) got = outcome_of(*harness, std::move(got).error());
  if (!got) co_return std::move(got).error();
  CAY_CO_CHECK(record_end(*harness, *got));
  auto out = result_of(*harness);
  out.message = got->message;
  out.structured = got->structured;
  co_return out;
}

}  // namespace cay::agent
