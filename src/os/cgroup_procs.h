// Who is in a cgroup, and their end where the kernel has no cgroup.kill: in v1 hierarchies, and in v2 before 5.14.
#pragma once
#include <sys/types.h>

#include <string_view>
#include <vector>

namespace cay::os {

// From the text of a cgroup.procs. Without those that our pid namespace has no number for. Pure.
std::vector<pid_t> pids_of(std::string_view cgroup_procs);

// Kills what is in this group (an open directory of a cgroup file system), not what is in its children, and not the caller.
// A pid that goes to another process meanwhile is never followed there. Returns how many it killed: more may have been
// forked since, so ask until it is 0.
std::size_t kill_members(int group);

}  // namespace cay::os
