// check_store: compares DATA/layers with the subvolumes of the store.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "launcher/host.h"
#include "wire/store_check.h"

namespace cay::launcher {

enum class StoreRepair { kNo, kYes };

// `busy`: ids of layers that are being sealed or removed, which are no findings. A repair removes
// what belongs to no layer.
Result<std::vector<wire::StoreFindingMsg>> check_store(const Host& host,
                                                       const std::set<std::string>& busy,
                                                       StoreRepair repair);

}  // namespace cay::launcher
