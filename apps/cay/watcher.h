// A watcher: a child of the daemon's that lives as long as the daemon does, and sees to something that outlives it.
#pragma once
#include "base/unique_fd.h"

namespace cay::app {

inline constexpr int kDaemonPipe = 3;  // its other end is the daemon's, whose end it tells

// What the child does first: it keeps nothing of the daemon's but its log, for whoever reads the daemon's output must see its end.
void become_watcher(const char* name, UniqueFd daemon);

}  // namespace cay::app
