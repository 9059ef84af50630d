// The generated part of the default snapshot: /etc, /var, homes, and what makes installs work.
#pragma once
#include <vector>

#include "launcher/default_snapshot_apt.h"
#include "launcher/default_snapshot_tree.h"
#include "wire/messages.h"

namespace cay::launcher {

// Everything but /usr, which must be in place already.
Result<void> write_system(TreeWriter& tree, const wire::PrepareDefault& with,
                          const Progress& progress);

// Writes /etc alone.
Result<void> write_etc(TreeWriter& tree, const wire::PrepareDefault& with);

// The host's lists of package sources, as far as every user of it may read them.
std::vector<AptFile> apt_files(TreeWriter& tree);

}  // namespace cay::launcher
