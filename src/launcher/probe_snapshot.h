// Probes the host for the default snapshot: how its files come there, which programs and which
// mirror it has.
#pragma once
#include <string>
#include <vector>

#include "wire/messages.h"

namespace cay::launcher {

// `layers`: the open directory that snapshots lie in. `host_root`: "/" but in tests.
std::vector<wire::FeatureMsg> probe_snapshot(int layers, const std::string& host_root = "/");

}  // namespace cay::launcher
