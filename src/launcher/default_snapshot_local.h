// These functions choose the part of /usr/local that the default snapshot gets. It is what an admin
// put there for every user of the host, without what may be a secret
// (docs/decisions/0037-packages-and-usr-local.md).
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "launcher/default_snapshot_tree.h"

namespace cay::launcher {

// Whether the entry at `path` ("usr/local/x") is never taken: settings, keys, credentials, the
// host's own authorities.
bool left_out_of_local(std::string_view path);

// Why the host's /usr/local is not taken at all; empty: it is.
std::string why_no_local(int host, TreeWriter& tree);

// The program `name` of /usr/local/bin, where it is a link to a place that is not taken: that
// place. Else empty.
std::string leads_out_of_local(TreeWriter& tree, const std::string& name);

// Changes when an entry of the host's /usr/local does: names, kinds, modes, sizes and times. One
// stat(2) an entry, no contents.
std::string identity_of_local(int host, TreeWriter& tree);

// After the tree was taken: the directories that a Debian has there, and the names by which its
// programs are called.
Result<void> write_local(TreeWriter& tree);

}  // namespace cay::launcher
