// Begun: what is under way with sandboxes and was promised, on disk. What a killed daemon had begun its successor finishes: a
// sandbox that was being stopped neither goes on as if nothing had been asked nor counts as failed, and one whose creation was
// answered before it was made is made.
#pragma once
#include <map>
#include <string>

#include "core/ports/store.h"

namespace cay::core {

class Begun {
 public:
  // `key`: of the store's meta table; one for each kind of work.
  Begun(Store& store, std::string key) : store_(store), key_(std::move(key)) {}

  // Those that were under way when the last daemon ended, with the reason of each. They stay begun until over().
  Result<std::map<SandboxId, std::string>> open();

  // `why`: one word, or empty.
  Result<void> begin(const SandboxId& id, const std::string& why);
  Result<void> over(const SandboxId& id);
  // Of one that is begun; empty of any other.
  std::string why(const SandboxId& id) const;

 private:
  Result<void> write() const;

  Store& store_;
  const std::string key_;
  std::map<SandboxId, std::string> begun_;
};

}  // namespace cay::core
