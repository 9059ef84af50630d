// Timeline: the time for the timers of sandboxes. It runs with the host's time since boot, across
// restarts of the daemon. Over a boot of the host it goes on by the difference of the wall clock,
// and never back. Setting the wall clock while the host runs neither ends a sandbox nor keeps it.
// docs/decisions/0008-time-of-timers.md
#pragma once
#include <optional>
#include <string>

#include "base/clock.h"
#include "core/ports/store.h"
#include "model/sandbox.h"

namespace cay::core {

class Timeline {
 public:
  Timeline(Clock& clock, Store& store) : clock_(clock), store_(store) {}

  // Goes on from where the last daemon was. `latest`: the newest mark of any row; over a boot of
  // the host, time is not before it.
  Result<void> open(LifeMillis latest);
  LifeMillis now() const { return base_ + clock_.since_boot().count(); }
  // Writes where the wall clock stands, if it was set or an hour has passed: a boot of the host
  // goes by it. In a boot's first hour, a clock that is set back takes back what it had added.
  void keep();
  // Before then nothing is deleted by a timer: the time goes by a boot's clock, which has an hour
  // to be found wrong.
  std::optional<LifeMillis> deletes_from() const;

 private:
  // One moment, on three clocks.
  struct Anchor {
    std::string boot_id;
    std::int64_t since_boot = 0;
    UnixMillis wall = 0;
    LifeMillis now = 0;
  };
  // The time before the host's present boot.
  struct Before {
    LifeMillis now = 0;
    UnixMillis wall = 0;
    LifeMillis latest = 0;  // time is not before it
    std::int64_t since_boot =
        0;  // when the first daemon of this boot began: what went by since then is no question
  };
  static std::optional<Anchor> anchor_of(const std::string& text);
  static std::optional<Before> before_of(const std::string& text);
  Before before_boot(const Anchor& last, const std::optional<Before>& known,
                     LifeMillis latest) const;
  LifeMillis reckoned(const Before& before) const;
  bool was_set() const;
  void take_back();

  Result<void> write();
  UnixMillis wall_offset() const { return clock_.wall() - clock_.since_boot().count(); }

  Clock& clock_;
  Store& store_;
  LifeMillis base_ = 0;            // now() at the host's boot
  UnixMillis written_offset_ = 0;  // wall clock at the host's boot, as written
  LifeMillis written_at_ = 0;
  std::int64_t looked_at_ = 0;  // time since boot when a daemon last saw how the wall clock stands
  std::optional<Before> before_;
};

}  // namespace cay::core
