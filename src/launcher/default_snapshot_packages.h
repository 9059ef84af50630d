// The package database of the default snapshot. It lists what the snapshot holds and nothing else.
// docs/decisions/0037-packages-and-usr-local.md has the reasons.
#pragma once
#include "launcher/config.h"
#include "launcher/default_snapshot_tree.h"

namespace cay::launcher {

// Writes /var/lib/dpkg, and of /etc and /var what the packages in it ship. To be called last: it
// looks at what the tree has. Nothing happens on a host without such a database.
Result<void> write_packages(TreeWriter& tree, const Progress& progress);

}  // namespace cay::launcher
