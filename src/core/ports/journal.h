// The journal port: events in order, kept for a while. It is part of the store, so that an event is
// written in the same transaction as its change of state.
#pragma once
#include <functional>
#include <map>
#include <vector>

#include "base/result.h"
#include "model/event.h"

namespace cay::core {

class Journal {
 public:
  virtual ~Journal() = default;

  // Events of commands, whose state lives with their keepers. Written with the next change of state
  // or by flush_events(), in order. `seq` is given then.
  virtual void note_event(EventRecord event) = 0;
  virtual Result<void> flush_events() = 0;

  // One tenant's, in order. kOutOfRange (event_ahead) for an `after` that has not happened yet.
  virtual Result<EventPage> events(const TenantId& tenant, const EventQuery& query) = 0;

  // Commands with a started and no ended event, of all tenants.
  virtual Result<std::vector<OpenCommand>> open_commands() = 0;
  // Whether the journal knows, or may have known before it pruned, that the command started then.
  virtual Result<bool> knows_command(const TenantId& tenant, const SandboxId& sandbox,
                                     const CommandId& command, UnixMillis started_at) = 0;
  // Returns the last note of each sandbox that is on record. All before it are on record, too.
  virtual Result<std::map<SandboxId, NoteMark>> note_marks() = 0;
  // When the newest event of all tenants happened; 0: none.
  virtual Result<UnixMillis> newest_event() = 0;

  // Called after events were written.
  virtual void on_events(std::function<void()> called) = 0;
};

}  // namespace cay::core
