// StoreFinding: one thing in the store of snapshots that is not as it should be.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cay {

struct StoreFinding {
  std::string kind;     // a stable word: docs/operator/trouble.md
  std::string subject;  // the id of the layer, snapshot, sandbox or file
  std::string meaning;  // for people
  std::string remedy;   // what to do
  bool can_repair = false;
  bool repaired = false;
};

struct StoreReport {
  std::vector<StoreFinding> findings;
  std::uint64_t snapshots = 0, layers = 0, sandboxes = 0;  // that were looked at
};

}  // namespace cay
