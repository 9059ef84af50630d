// A watcher: a pair of processes that live as long as the daemon does, and see to something that
// outlives it. One watches, and each replaces the other: whichever is killed, together with what is
// watched or before it, the other one is there. They take no input.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::app {

inline constexpr int kDaemonPipe = 3;  // its other end is the daemon's, and closes when it ends

struct Watcher {
  const char* name;            // of both
  std::uint64_t capabilities;  // bits by os::cap_bit: of root's they keep those that what they
                               // start again needs
  std::function<void(int twin)> watch;  // in one of them; returns when `twin` is readable (the
                                        // other one is gone), and exits when kDaemonPipe is
};

// Forks them; call it while this process has one thread. They live as long as the descriptor, and
// the descriptor is in error (poll: POLLERR) when both were killed.
Result<UniqueFd> start_watcher(const Watcher& watcher);

// Continues a process that a signal has stopped. It neither ends nor works, and nobody would
// replace it.
void let_go_on(pid_t pid, const char* what);

}  // namespace cay::app
