// The time for which the kernel remembers a finished connection of a sandbox
// (/proc/sys/net/netfilter). With guest_filter.h's bound on new ones each second, this bounds the
// memory of all of them, which no group pays for.
#pragma once
#include "base/result.h"

namespace cay::launcher {

// `settings`: the directory sys/net of a procfs that can be written, used from within the sandbox's
// network namespace, in which set_up_guest_network() was.
Result<void> limit_tracking(int settings);

}  // namespace cay::launcher
