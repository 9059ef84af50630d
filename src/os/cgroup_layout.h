// The host's cgroup layout: pure v2, or v1 controllers beside a v2 tree ("hybrid").
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cay::os {

struct CgroupLayout {
  std::string v2;  // mount point; empty: not mounted
  // Mount points of v1 hierarchies; empty: that controller is not on v1. cpu and cpuacct may be
  // one.
  std::string memory, cpu, cpuacct, pids;
};

// From the text of /proc/self/mountinfo. Pure.
CgroupLayout cgroup_layout_of(std::string_view mountinfo);

// The v2 path ("/system.slice/cay.service") from the text of /proc/self/cgroup; empty if there is
// none.
std::string v2_path_of(std::string_view proc_self_cgroup);

// Words of a controllers file ("cpuset cpu io memory").
std::vector<std::string> words_of(std::string_view text);

}  // namespace cay::os
