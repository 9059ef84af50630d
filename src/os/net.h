// The network namespace's own interface.
#pragma once

namespace cay::os {

// Brings `lo` of the current network namespace up (127.0.0.1 and ::1). False: errno is set.
bool bring_loopback_up();

}  // namespace cay::os
