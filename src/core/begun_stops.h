// BegunStops: the stops that are under way, on disk. What a killed daemon had begun its successor finishes: a sandbox that
// was being stopped neither goes on as if nothing had been asked nor counts as failed.
#pragma once
#include <set>
#include <string>

#include "core/ports/store.h"

namespace cay::core {

class BegunStops {
 public:
  explicit BegunStops(Store& store) : store_(store) {}

  // Those that were under way when the last daemon ended. They stay begun until over().
  Result<std::set<SandboxId>> open();

  Result<void> begin(const SandboxId& id);
  Result<void> over(const SandboxId& id);

 private:
  Result<void> write() const;

  Store& store_;
  std::set<SandboxId> ids_;
};

}  // namespace cay::core
