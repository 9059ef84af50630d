// CommandEntry: one command that the keeper knows: a running one, or one that has ended and is
// kept.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "keeper/command.h"
#include "keeper/tape.h"

namespace cay::keeper {

// Small: there may be a hundred thousand of them.
struct CommandEntry {
  std::string digest;
  std::unique_ptr<Command> live;  // until nothing more can come of it
  std::weak_ptr<Tape> tape;       // of a settled one, while someone reads it
  std::int64_t ttl_ms = -1;
  std::int64_t ended_at = -1;  // monotonic; set at its end, as is expires_at
  std::int64_t expires_at = -1;
  bool awaits_reader = false;  // a caller got its id and is about to attach

  bool is_starting() const { return live && live->state() == Command::State::kStarting; }
  bool is_read() const { return live ? live->clocks().readers() > 0 : !tape.expired(); }
};

// By id.
using CommandEntries = std::map<std::string, CommandEntry>;

}  // namespace cay::keeper
