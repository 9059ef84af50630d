// probe() examines this host for doctor. For each feature it lists what was found, what is used
// instead or lost, and the command that mends it.
#pragma once
#include <vector>

#include "launcher/host.h"
#include "wire/messages.h"

namespace cay::launcher {

std::vector<wire::FeatureMsg> probe(Host& host);

}  // namespace cay::launcher
