// Pages of the gate's log of one sandbox: DATA/gate/ID.log and ID.log.old (wire/decision_log.h).
// The gate speaks with hostile peers, so its files are believed in their length, their form and
// their numbers no more than a keeper's.
#pragma once
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "model/network.h"

namespace cay::runtime {

// No file: nothing was decided yet. kOutOfRange (decision_ahead): `after` is a number that was not
// given yet. kLost (decisions_damaged).
Result<DecidedPage> read_decision_log(const std::string& directory, const SandboxId& id,
                                      const DecidedQuery& query);

}  // namespace cay::runtime
