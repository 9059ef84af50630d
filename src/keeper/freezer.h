// Freezer: holds everything in the commands' cgroups still, by the kernel's v2 freezer, and lets it
// go. Slots that work for the keeper itself (file helpers) are left out, and so is the keeper: its
// own group is another. SIGKILL ends frozen processes too.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/loop.h"
#include "keeper/slots.h"

namespace cay::keeper {

class Freezer {
 public:
  using Done = std::function<void(Result<void>)>;

  Freezer(Loop& loop, Slots& slots) : loop_(loop), slots_(slots) {}

  // Freezes. `done` comes from the loop once the kernel reports all as frozen. Fails kUnsupported
  // (pause_unsupported), kDeadlineExceeded (pause_timeout), and then nothing is frozen. One at a
  // time.
  void freeze(Done done);
  // Lets everything run. Ends a freeze() under way (kCancelled, resumed).
  void thaw();

 private:
  struct Awaited {
    Slot* slot;
    UniqueFd events;  // of its own: the slot's may be watched for another reason
    Watch watch;
  };
  void check();
  void thaw_all();
  void finish(Result<void> result);

  Loop& loop_;
  Slots& slots_;
  Done done_;
  std::vector<Awaited> awaited_;
  Timer deadline_;
};

}  // namespace cay::keeper
