// Runs the calls of an assistant's message, at once. Their results are in the calls' order.
#pragma once
#include <optional>

#include "agent/loop/harness.h"

namespace cay::agent {

// Runs those that have no result. nullopt: each has one now. Else the run ends as returned: waiting
// for an approval.
//
// A call that a former process began follows Tool::repeat(). An Error of one tool is returned when
// the others are done.
Task<std::optional<Outcome>> run_calls(Harness* harness);

// Gives each call without a result the text of an interruption: before a new input.
Result<void> close_calls(Harness& harness, const std::string& reason);

}  // namespace cay::agent
