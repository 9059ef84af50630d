// ThreadEvent: one entry of a thread's log. The log is the thread's only state: the conversation,
// the sandbox, the pending calls and the cost are all derived from it.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

struct EventType {
  std::string_view name;
  std::string_view members;  // in data; "?" behind one: it may be absent
};
std::span<const EventType> event_types();

// An event as `--json` and exports have it: {"seq":1,"type":…,"at":RFC 3339, members of data}.
codec::json::object to_json(const ThreadEvent& event);
std::string to_line(const ThreadEvent& event);  // without a newline
// Fails kInvalidArgument (bad_event).
Result<ThreadEvent> event_from_json(const codec::json::object& value);

}  // namespace cay::agent
