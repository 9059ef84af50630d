// Snapshots: what sandboxes can be made from.
#pragma once
#include <vector>

#include "async/task.h"
#include "model/principal.h"
#include "model/snapshot.h"

namespace cay::core {

class Snapshots {
 public:
  virtual ~Snapshots() = default;
  // The one that `default` means comes first.
  virtual Task<std::vector<SnapshotInfo>> list(Principal who) = 0;
};

}  // namespace cay::core
