// A watcher: a child of the daemon's that lives as long as the daemon does, and sees to something that outlives it.
#pragma once
#include <cstdint>

#include "base/unique_fd.h"

namespace cay::app {

inline constexpr int kDaemonPipe = 3;  // its other end is the daemon's, whose end it tells

// What the child does first: it keeps nothing of the daemon's but its log, for whoever reads the daemon's output must see its end.
// Of root's capabilities (bits by os::cap_bit) it keeps those that what it starts again needs.
void become_watcher(const char* name, UniqueFd daemon, std::uint64_t capabilities);

}  // namespace cay::app
