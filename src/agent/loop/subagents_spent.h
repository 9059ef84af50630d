// The account of subagents whose calls have no result. Their own threads alone have it.
#pragma once
#include "agent/loop/harness.h"

namespace cay::agent {

// Reads the threads of the subagents whose calls began and did not end. Records `subagent_spent`
// for each that has spent more than the parent's account has of it.
Result<void> record_subagents(Harness& harness);

}  // namespace cay::agent
