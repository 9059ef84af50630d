#include "agent/loop/subagents_spent.h"

#include <optional>
#include <string>
#include <utility>

#include "agent/loop/subagent_thread.h"

namespace cay::agent {
namespace {

// A price that is unknown is not in the log, nor is a part of it.
bool is_same_account(const Spending& a, const Spending& b) {
  return a.usage == b.usage && a.known_cost() == b.known_cost();
}

// Returns all that a subagent's thread has spent, with the subagents below it. nullopt: the call is
// no subagent's.
Result<std::optional<Spending>> spent_in(ThreadLog& log, const std::string& thread,
                                         const std::string& parent) {
  CAY_TRY(auto state, subagent_state(log, thread, parent));
  if (!state) return std::optional<Spending>();
  for (const auto& call : state->calls) {
    if (!call.is_open_here()) continue;
    CAY_TRY(const auto below, spent_in(log, call.execution_id, thread));
    if (below) state->spent += beyond(*below, state->subagents[call.execution_id]);
  }
  return std::optional(state->spent);
}

}  // namespace

Result<void> record_subagents(Harness& harness) {
  const auto calls = harness.state().calls;
  for (const auto& call : calls) {
    if (!call.is_open_here()) continue;
    const auto& thread = call.execution_id;
    CAY_TRY(const auto spent, spent_in(*harness.log, thread, harness.recorder->thread()));
    if (!spent) continue;
    const auto known = harness.state().subagents.find(thread);
    if (is_same_account(*spent,
                        known == harness.state().subagents.end() ? Spending{} : known->second)) {
      continue;
    }
    codec::json::object data;
    data["run"] = harness.state().run.id;
    data["call_id"] = call.call.id;
    data["thread"] = thread;
    data["usage"] = to_json(spent->usage);
    if (const auto cost = spent->known_cost()) data["cost"] = *cost;
    CAY_CHECK(harness.recorder->record("subagent_spent", std::move(data)));
  }
  return {};
}

}  // namespace cay::agent
