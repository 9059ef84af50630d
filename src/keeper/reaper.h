// Reaper: the only place that waits for children. SIGCHLD comes as a readable descriptor.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <unordered_map>

#include "base/unique_fd.h"
#include "keeper/loop.h"

namespace cay::keeper {

// The end of a child, as waitid reported it.
struct Exit {
  bool signalled = false;
  int value = 0;  // exit code, or signal
  rusage usage{};
};

class Reaper {
 public:
  using OnExit = std::function<void(const Exit&)>;

  // Blocks SIGCHLD and SIGTERM in this process; `on_term` runs on SIGTERM.
  Reaper(Loop& loop, std::function<void()> on_term);

  // `pid` is a child that was not reaped yet. Replaces what was expected before.
  void expect(pid_t pid, OnExit on_exit) { expected_[pid] = std::move(on_exit); }
  void forget(pid_t pid) { expected_.erase(pid); }
  // `resolver` is called for a dead child that nobody expects, and may call expect() for it.
  void set_resolver(std::function<void(pid_t)> resolver) { resolver_ = std::move(resolver); }
  // Takes every child that has ended so far.
  void reap();

 private:
  Loop& loop_;
  std::function<void()> on_term_;
  std::function<void(pid_t)> resolver_;
  std::unordered_map<pid_t, OnExit> expected_;
  UniqueFd signals_;
  Watch watch_;
};

// True while `pid`, an unreaped child, is stopped by a signal.
bool is_stopped(pid_t pid);
// True when `pid`, an unreaped child, has ended.
bool has_ended(pid_t pid);

}  // namespace cay::keeper
