// Whether children can be cloned straight into a new cgroup, as keepers are.
#pragma once

namespace cay::launcher {

// `parent`: a v2 group in which a group can be made for the trial. Only for single-threaded
// processes.
//
// Kernels (6.18, and older ones with the same fix) compare the kill counter of the caller's group
// with that of the child's. If cgroup.kill was ever used on our group, every child that is cloned
// into a new group dies at once. (A service manager may kill a whole service and start it again in
// the same group.) A child then joins by writing, which waits for the kernel's readers: 8 to 16 ms
// on an idle host. Our group's counter cannot change while we live.
bool clones_into_groups(int parent);

}  // namespace cay::launcher
