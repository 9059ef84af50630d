// Compaction: keeps a conversation within the model's context. The log keeps all of it, and so does
// a file in the sandbox.
#pragma once
#include "agent/loop/harness.h"

namespace cay::agent {

// Before a request: at the trigger, long arguments of old calls are cut. If that is not enough, the
// old messages are replaced by a summary that the model writes.
Task<void> keep_within_context(Harness* harness);

// After the model rejected a conversation as too long: summarises. A second time, it cuts long
// results. false: there is nothing left to cut.
Task<bool> recover_from_overflow(Harness* harness, int attempt);

}  // namespace cay::agent
