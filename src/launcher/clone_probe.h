// Whether children can be cloned straight into a new cgroup, as keepers are.
#pragma once

namespace cay::launcher {

// `parent`: a v2 group in which a group can be made for the trial. Only for single-threaded processes.
//
// Kernels (6.18, and older ones with the same mend) compare the kill counter of the caller's group with that of the
// child's: where ours was ever killed by cgroup.kill (a service manager that killed the whole service, and started it again in
// the same group), every child that is cloned into a new group dies at once. It joins by writing then, which
// waits for the kernel's readers (8 to 16 ms on an idle host). Our group's counter cannot change while we live.
bool clones_into_groups(int parent);

}  // namespace cay::launcher
