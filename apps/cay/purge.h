// Purge: ends and removes everything of one data directory: launcher, sandboxes, cgroups, disks,
// keys; and /run/cay, unless another instance of this host goes by it.
#pragma once
#include <string>

#include "base/result.h"

namespace cay::app {

// kConflict (daemon_runs) while a daemon has the directory. A directory that is not there is
// success, and an empty one goes. kInvalidArgument (bad_data_dir) for one that is not Cay's.
Result<void> purge(const std::string& data);

}  // namespace cay::app
