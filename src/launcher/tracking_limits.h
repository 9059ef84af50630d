// How long the kernel remembers a connection of a sandbox that is over (/proc/sys/net/netfilter). With the bound of
// guest_filter.h on what comes new each second, this is a bound on the memory of all of them, which no group pays for.
#pragma once
#include "base/result.h"

namespace cay::launcher {

// `settings`: the directory sys/net of a procfs that can be written, used from within the sandbox's network namespace,
// in which set_up_guest_network() was.
Result<void> limit_tracking(int settings);

}  // namespace cay::launcher
