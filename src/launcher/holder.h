// Holder: the one process of the unit that sandboxes' cgroups lie in. A service manager removes the
// cgroup of a unit without processes, and a cgroup that hands controllers down may hold no process
// itself. So it waits in a leaf and does nothing else.
// docs/decisions/0011-cgroups-under-systemd.md.
#pragma once

namespace cay::launcher {

// Moves into the leaf `holder` below its own cgroup, notifies the service manager, and waits for
// its end. Returns an exit code.
int hold_cgroup();

}  // namespace cay::launcher
