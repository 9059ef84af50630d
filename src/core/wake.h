// Wake: from a reference to a live sandbox that stays awake while it is used. A stopped one is
// started first, once for all concurrent callers.
#pragma once
#include <memory>

#include "core/boot.h"
#include "core/registry.h"

namespace cay::core {

// A live sandbox in use.
struct Held {
  std::shared_ptr<Entry> entry;
  std::shared_ptr<LiveSandbox> live;
  Hold hold;

  bool paused() const { return entry->row.state == SandboxState::kPaused; }
};

class Wake {
 public:
  Wake(std::shared_ptr<Registry> registry, Boots& boots, Timing timing)
      : registry_(std::move(registry)), boots_(boots), timing_(timing) {}

  // Fails kNotFound (sandbox_not_found), and kNotReady (sandbox_not_ready) with the reason if it
  // does not run within Timing::wake_wait. Fails kExhausted (quota_…) if the host has no room for
  // it by then. A paused one is live and stays paused: its keeper refuses new commands.
  Task<Held> live(Principal who, std::string ref);
  // The same for a known entry. A caller that may not wake it (Principal::may_wake) gets an error
  // for a stopped one, and does not keep a running one awake.
  Task<Held> live(std::shared_ptr<Entry> entry, Principal who);

  Registry& registry() { return *registry_; }

 private:
  std::shared_ptr<Registry> registry_;
  Boots& boots_;
  Timing timing_;
};

}  // namespace cay::core
