// KeeperNotes tracks the number of the last note from each keeper. It also tracks the keepers that
// wait for the confirmation that their notes are on record (docs/decisions/0017-notes.md).
#pragma once
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "core/jobs.h"
#include "core/registry.h"

namespace cay::core {

class KeeperNotes {
 public:
  KeeperNotes(Registry& registry, Jobs& jobs) : registry_(registry), jobs_(jobs) {}

  // The last notes that the journal has.
  void load(const std::map<SandboxId, NoteMark>& marks) {
    for (const auto& [id, mark] : marks) last_[id] = mark;
  }
  // Takes a note, which its keeper wants confirmed. False: it came before.
  bool take(const SandboxId& id, NoteMark mark);
  // All that was taken is written: sends the confirmations, each as a job.
  void confirm_all();
  bool any_unconfirmed() const { return !unconfirmed_.empty(); }
  void forget(const SandboxId& id) { last_.erase(id); }

 private:
  static Task<void> confirm(std::shared_ptr<LiveSandbox> live, NoteMark through);

  Registry& registry_;
  Jobs& jobs_;
  std::map<SandboxId, NoteMark> last_;
  std::set<SandboxId> unconfirmed_;
};

}  // namespace cay::core
