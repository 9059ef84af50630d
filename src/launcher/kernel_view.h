// What a sandbox sees of the kernel: which entries of /proc are covered, and which parts of /sys
// exist. Both are lists of what is allowed, so that what a newer kernel adds is not seen before
// somebody looked.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/host_cpus.h"

namespace cay::launcher {

// Names directly under /proc (open at `proc_dir`) that tell of the host and could be read inside:
// all but those that programs need and those only the host's own root may open. Asked once, as the
// launcher starts.
Result<std::vector<std::string>> covered_proc_names(int proc_dir);

// Makes an empty /sys in directory `to`, and attaches there the allowed parts of `sysfs` (a mount's
// root; -1: none). With fewer CPUs than the host has, /sys/devices/system/cpu has these alone.
Result<void> build_sys(int sysfs, int to, const GuestCpus& cpus);

}  // namespace cay::launcher
