// The thread of a subagent, which has the id of the call that started it.
#pragma once
#include <optional>
#include <string>

#include "agent/threads/log.h"
#include "agent/threads/replay.h"

namespace cay::agent {

// Returns what the thread has come to. nullopt: it is no subagent's of `parent`, or has not begun.
Result<std::optional<ThreadState>> subagent_state(ThreadLog& log, const std::string& thread,
                                                  const std::string& parent);

}  // namespace cay::agent
