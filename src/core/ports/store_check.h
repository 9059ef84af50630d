// StoreCheck: the role of a runtime's layers that can compare the files of its store.
#pragma once
#include <vector>

#include "async/task.h"
#include "core/ports/layers.h"
#include "model/store_finding.h"

namespace cay::core {

// A class that implements Layers may implement this as well.
class StoreCheck {
 public:
  virtual ~StoreCheck() = default;
  // Returns what is wrong with the files of layers. `repair` removes what no layer needs. Work that
  // is under way is no finding.
  virtual Task<std::vector<StoreFinding>> check(bool repair) = 0;
};

}  // namespace cay::core
