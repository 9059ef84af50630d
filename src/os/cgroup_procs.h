// The members of a cgroup. It also kills them where the kernel has no cgroup.kill: in v1
// hierarchies, and in v2 before 5.14.
#pragma once
#include <sys/types.h>

#include <string_view>
#include <vector>

namespace cay::os {

// From the text of a cgroup.procs. Without those that our pid namespace has no number for. Pure.
std::vector<pid_t> pids_of(std::string_view cgroup_procs);

// Kills the members of this group (an open directory of a cgroup file system), but neither those of
// its children nor the caller. A pid that another process takes meanwhile is not followed. Returns
// how many it killed. More may have been forked since, so callers repeat until it is 0.
std::size_t kill_members(int group);

}  // namespace cay::os
