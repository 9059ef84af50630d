// ThreadEvent: one entry of a thread's log. The log is the thread's only state: the conversation,
// the sandbox, the pending calls and the cost are all derived from it.
#pragma once
#include <cstdint>
#include <string>

#include "codec/json.h"

namespace cay::agent {

// The names of types and members are stable: `--json`, exports and users' programs have them.
// event.cc lists both.
//
// A run ends in one state: done, failed, cancelled, limit, sandbox_lost or waiting. `limit` was met
// (steps, tokens, cost or time), and `waiting` is for an approval.
struct ThreadEvent {
  std::uint64_t seq = 0;  // from 1, without holes; 0: not yet in the log
  std::string type;
  std::int64_t at_ms = 0;  // since 1970
  codec::json::object data;
};

}  // namespace cay::agent
