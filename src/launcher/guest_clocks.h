// The sandbox's own clocks: a time namespace in which CLOCK_MONOTONIC and CLOCK_BOOTTIME count from
// the sandbox's start (time_namespaces(7)). So do /proc/uptime, the boot time of /proc/stat and the
// start times of processes. The wall clock is the host's.
#pragma once
#include <ctime>

#include "base/result.h"

namespace cay::launcher {

// The host's clocks before init was made: no process inside is older than that.
struct ClockStart {
  timespec monotonic{};
  timespec boottime{};

  static ClockStart now();
};

// Whether this kernel makes time namespaces, and its administrator lets it.
bool has_own_clocks();

// The calling process enters a new time namespace of its user namespace, with all that it makes.
// Single-threaded, with all capabilities there, and where /proc shows it.
Result<void> enter_own_clocks(const ClockStart& start);

}  // namespace cay::launcher
