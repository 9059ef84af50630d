// The loop: a call of the model, its tool calls, and again, until a run ends. Each step follows
// from the thread's state alone.
#pragma once
#include <string>

#include "agent/loop/harness.h"

namespace cay::agent {

// Runs until an end, which is the last event. It begins with run_started. Fails only where the log
// cannot be written. When it is cancelled, the log gets Harness::stop_state, and the exception goes
// on.
Task<RunResult> conduct(Harness* harness, std::string run);

// The result of the thread's last run, as the log has it.
RunResult result_of(const Harness& harness);

// A new run's id.
std::string next_run(const ThreadState& state);

}  // namespace cay::agent
