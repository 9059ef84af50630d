// probe_snapshot() examines the host for the default snapshot. It reports how the snapshot gets its
// files, which programs it has, and which mirror its package manager uses.
#pragma once
#include <string>
#include <vector>

#include "wire/messages.h"

namespace cay::launcher {

// `layers`: the open directory that snapshots lie in. `host_root`: "/" but in tests.
std::vector<wire::FeatureMsg> probe_snapshot(int layers, const std::string& host_root = "/");

}  // namespace cay::launcher
