// The gate's decisions about one sandbox: DATA/gate/ID.net. The gate talks with hostile peers. So
// the length, form and owner of its file are checked as those of a keeper's file are.
#pragma once
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "model/network.h"

namespace cay::runtime {

// No file: nothing was tried yet. kLost (decisions_damaged).
Result<NetworkReport> read_decisions(const std::string& directory, const SandboxId& id);

}  // namespace cay::runtime
