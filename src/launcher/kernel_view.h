// The kernel view limits the kernel's files in a sandbox. One list has the entries of /proc that
// stay visible, and another the parts of /sys that exist. Both list what is allowed, so that an
// entry of a newer kernel stays hidden until somebody has reviewed it.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/host_cpus.h"

namespace cay::launcher {

// Returns the names directly under /proc (open at `proc_dir`) that have to be covered. They
// describe the host and could be read inside. Not among them are those that programs need, and
// those that only the host's own root may open. The launcher calls it once, as it starts.
Result<std::vector<std::string>> covered_proc_names(int proc_dir);

// Makes an empty /sys in directory `to`, and attaches there the allowed parts of `sysfs` (a mount's
// root; -1: none). With fewer CPUs than the host has, /sys/devices/system/cpu has these alone.
Result<void> build_sys(int sysfs, int to, const GuestCpus& cpus);

}  // namespace cay::launcher
