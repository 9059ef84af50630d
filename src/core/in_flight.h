// InFlight: promised work on sandboxes that is under way, on disk. A daemon's successor finishes
// what a killed daemon had begun. A sandbox that was being stopped neither runs on nor counts as
// failed. One whose creation was answered before it was made is made.
#pragma once
#include <map>
#include <string>

#include "core/ports/store.h"

namespace cay::core {

class InFlight {
 public:
  // `key`: of the store's meta table; one for each kind of work.
  InFlight(Store& store, std::string key) : store_(store), key_(std::move(key)) {}

  // Those that were under way when the last daemon ended, with the reason of each. They stay begun
  // until over().
  Result<std::map<SandboxId, std::string>> open();

  // `why`: one word, or empty.
  Result<void> begin(const SandboxId& id, const std::string& why);
  Result<void> over(const SandboxId& id);
  // Returns the reason of work that is under way, and an empty text otherwise.
  std::string why(const SandboxId& id) const;

 private:
  Result<void> write() const;

  Store& store_;
  const std::string key_;
  std::map<SandboxId, std::string> begun_;
};

}  // namespace cay::core
