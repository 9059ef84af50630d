// LateUnmounts: keeps the roots of sandboxes that are being deleted for a moment. Then a child lets
// many of them go at once.
//
// The last one who lets go of an overlay has the kernel write the whole pool to the disk (a commit
// of btrfs, some milliseconds). Without this it would be the sandbox's init, and the deletion would
// wait for it. All that let go at the same time share one commit. Nothing is lost with this
// process: the kernel closes its descriptors, late or not.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <vector>

#include "base/unique_fd.h"
#include "launcher/poller.h"

namespace cay::launcher {

class LateUnmounts {
 public:
  explicit LateUnmounts(Poller& poller) : poller_(poller) {}

  // Takes a descriptor of a root directory. Over the limit it is closed here and now.
  void keep(UniqueFd root);
  // Returns the milliseconds until it wants to be called again; -1: never.
  int tick();

 private:
  using Clock = std::chrono::steady_clock;

  void let_go();

  Poller& poller_;
  std::vector<UniqueFd> kept_;
  Clock::time_point due_;
  UniqueFd child_;  // that lets the former ones go
  pid_t child_pid_ = 0;
};

}  // namespace cay::launcher
