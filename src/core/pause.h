// Pauses: holds a running sandbox still with its memory, and lets it go on. Apart from stop and
// start: nothing ends. docs/decisions/0009-pause.md
#pragma once
#include <memory>

#include "core/in_flight.h"
#include "core/registry.h"

namespace cay::core {

class Pauses {
 public:
  Pauses(std::shared_ptr<Registry> registry, Jobs& jobs)
      : registry_(std::move(registry)), jobs_(jobs), still_(registry_->store(), "held_still") {}

  // kNotReady (sandbox_not_ready) if it does not run. Idempotent.
  Task<void> pause(std::shared_ptr<Entry> entry);
  Task<void> resume(std::shared_ptr<Entry> entry);

  // At start: finds those that the last daemon held still. learn() lets them go.
  Result<void> open();
  // Holds what runs still for a moment, while its disk is taken. Its row stays `ready`, and calls
  // wait. The caller holds its turn. False: nothing runs, or it cannot be held still. After true,
  // let_go() follows.
  Task<bool> hold_still(std::shared_ptr<Entry> entry);
  Task<void> let_go(std::shared_ptr<Entry> entry);

  // Sets whether it is paused to its keeper's answer, and repeats the query until one comes. For
  // sandboxes whose state and record may differ: adopted by a daemon that starts, or paused without
  // an answer.
  Task<void> learn(std::shared_ptr<Entry> entry, std::shared_ptr<LiveSandbox> live);

 private:
  enum class To { kPaused, kReady };
  void record(Entry& entry, To to);
  Task<void> change(std::shared_ptr<Entry> entry, To to);

  std::shared_ptr<Registry> registry_;
  Jobs& jobs_;
  InFlight still_;
};

}  // namespace cay::core
