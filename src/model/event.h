// EventRecord: one thing that happened to a sandbox or a command, as the journal keeps it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/sandbox.h"

namespace cay {

// A note of a keeper's (docs/wire.md): the numbers of one life of a keeper are 1, 2, 3 …
struct NoteMark {
  std::uint64_t life = 0;  // 0: none
  std::uint64_t number = 0;
};

struct EventRecord {
  std::uint64_t seq = 0;  // 1, 2, 3 … of the tenant, without holes
  TenantId tenant;
  UnixMillis at = 0;  // when it happened; the order is seq's
  std::string type;   // "sandbox.started", "command.ended" …: docs/api.md lists them
  SandboxId sandbox_id;
  std::string sandbox;                        // its name then
  std::map<std::string, std::string> labels;  // then
  std::string reason;                         // of a failure or a loss
  // command.* only, but for `by`
  CommandId command_id;
  std::string state;  // command.ended: exited, signalled …
  std::string by;     // the key of sandbox.updated, .deleting, .deleted and command.started; the
                      // killer of a killed command
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string trace;  // traceparent of the command's span; kept while it runs, never shown
  NoteMark note;      // of the keeper's note; written with it, never shown
};

struct EventQuery {
  std::uint64_t after = 0;   // events with a larger number
  bool from_oldest = false;  // instead of `after`: from the oldest that is kept
  bool from_now = false;     // instead of `after`: those to come
  std::uint32_t limit = 100;
  std::string sandbox;             // id or name; empty: all
  std::vector<std::string> types;  // "command.ended", or "command." for all of a kind; empty: all
};

struct EventPage {
  std::vector<EventRecord> items;
  std::uint64_t next_after = 0;  // where to go on
  std::uint64_t oldest = 0;      // the first number that is kept; last + 1: none is
  std::uint64_t last = 0;        // the newest there is
  // Requested, but no longer kept: numbers gap_begin to gap_end. 0: nothing is missing.
  std::uint64_t gap_begin = 0, gap_end = 0;
};

// A command whose start is on record, and whose end is not.
struct OpenCommand {
  SandboxId sandbox_id;
  CommandId command_id;
  UnixMillis started_at = 0;
  std::string trace;
};

// Returns the name of the event for such a change of a sandbox's row. Empty: no event.
std::string event_of(const Sandbox& before, const Sandbox& after);
// An event about a sandbox as it is.
EventRecord event_about(const Sandbox& sandbox, std::string type, UnixMillis at,
                        std::string by = {});

}  // namespace cay
