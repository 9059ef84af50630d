// Timeline: the time that the timers of sandboxes go by. It runs with the host's time since boot, across
// restarts of the daemon; over a boot of the host it goes on by what the wall clock says has passed,
// never back. Setting the wall clock while the host runs neither ends a sandbox nor keeps it.
// docs/decisions/0008-time-of-timers.md
#pragma once
#include "base/clock.h"
#include "core/ports/store.h"
#include "model/sandbox.h"

namespace cay::core {

class Timeline {
 public:
  Timeline(Clock& clock, Store& store) : clock_(clock), store_(store) {}

  // Goes on from where the last daemon was. `latest`: the newest mark of any row; over a boot of the host, time is not before it.
  Result<void> open(LifeMillis latest);
  LifeMillis now() const { return base_ + clock_.since_boot().count(); }
  // Writes where the wall clock stands, if it was set or an hour has passed: a boot of the host goes by it.
  void keep();

 private:
  Result<void> write();
  UnixMillis wall_offset() const { return clock_.wall() - clock_.since_boot().count(); }

  Clock& clock_;
  Store& store_;
  LifeMillis base_ = 0;           // now() at the host's boot
  UnixMillis written_offset_ = 0; // wall clock at the host's boot, as written
  LifeMillis written_at_ = 0;
};

}  // namespace cay::core
