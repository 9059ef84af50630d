// What the gate wrote about one sandbox: DATA/gate/ID.net. The gate speaks with hostile peers, so its file is believed in its
// length, its form and its owner no more than a keeper's.
#pragma once
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "model/network.h"

namespace cay::runtime {

// No file: nothing was tried yet. kLost (decisions_damaged).
Result<NetworkReport> read_decisions(const std::string& directory, const SandboxId& id);

}  // namespace cay::runtime
