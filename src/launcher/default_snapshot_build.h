// `buildkitd`, `buildctl` and `docker` in the default snapshot, for clients that build an image
// inside a sandbox and capture it by its name. They only record what is to be built. The daemon
// builds it at the capture (docs/from-langsmith.md).
#pragma once
#include "launcher/default_snapshot_tree.h"

namespace cay::launcher {

// Writes them before the host's own programs on PATH, which they run for every other call. A host
// without bash gets none.
Result<void> write_build_programs(TreeWriter& tree);

}  // namespace cay::launcher
