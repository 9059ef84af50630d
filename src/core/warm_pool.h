// WarmPool: sandboxes that are booted ahead, so that a creation takes one instead of waiting for
// a boot. A spare has an id and a name of its own and no row. Nothing has run in it. It belongs to
// no tenant, and no request's environment, labels or secrets are in it.
//
// A creation takes a spare only if its own boot would differ in nothing but the id, the name and
// the host name. A sandbox with a name of its own, volumes, path rules or file systems in memory
// is always booted. So is one with rules of its own, proxy rules or a program record.
//
// Spares are booted one at a time while no sandbox boots for a request. A boot stands back for a
// second from creations, commands and evaluations that have just begun. Spares count against no
// quota. The pool keeps no more of them than the host has room for, and none while the host drains.
// A daemon removes the spares of a killed predecessor (core/restart.h).
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "core/boot.h"
#include "core/layer_tree.h"
#include "core/registry.h"
#include "core/spare.h"
#include "core/warm_demand.h"

namespace cay::core {

class WarmPool {
 public:
  // `most`: spares at any time. 0: there is no pool, and nothing of it costs anything.
  WarmPool(std::shared_ptr<Registry> registry, const Runtimes& runtimes, const Boots& boots,
           LayerTree& layers, Jobs& jobs, std::uint32_t most);

  bool is_on() const { return most_ != 0; }

  // Counts a creation, and returns a spare that is as good as a boot by `wanted`, with a name for
  // which `is_free` holds. Nothing: boot one. The caller makes its row at once, or drop()s it.
  std::optional<Spare> take(const BootSpec& wanted,
                            const std::function<bool(const std::string&)>& is_free);
  // Removes a spare that was taken and not used.
  void drop(Spare spare);
  // Keeps one for a first creation by `wanted`.
  void expect(const BootSpec& wanted);

  // Returns true if the sandbox that ended is the pool's.
  bool died(const SandboxDeath& death);
  // Drops spares of snapshots that are gone, and all of them if the host drains.
  void review();

  // Runs until stop(). Spawned once, when the core opens.
  Task<void> run();
  // Removes all spares, as jobs. No more are booted.
  void stop();

  // For an operator: how many there are, may be and are wanted.
  struct Status {
    std::uint32_t spares = 0, booting = 0, most = 0;
    std::uint64_t taken = 0, missed = 0;
  };
  Status status() const;
  Metrics* metrics = nullptr;  // may be absent

 private:
  struct Kept {
    BootSpec kind;
    Spare spare;
    Grant layer;  // it stands on it
  };
  struct Booting {
    SandboxId id;
    bool died = false;
  };
  // Drops what is too much, begins a boot if one is due, and returns when to look again.
  Event::Deadline look();
  // Begins the boot of a kind of which there are fewer than wanted, if it has its turn. `is_low`:
  // fewer than half.
  Event::Deadline begin_boot(const BootSpec& kind, bool is_low);
  bool is_quiet() const;
  Task<void> boot(BootSpec kind, std::shared_ptr<Booting> booting);
  Task<std::shared_ptr<LiveSandbox>> boot_in_place(BootSpec spec);
  void drop_hung_up(const BootSpec& kind);
  bool has_room(const Limits& more) const;
  bool is_bootable(const BootSpec& kind) const;
  void remove(std::size_t at, const char* why);
  void remove(Kept kept, const char* why);
  Task<void> destroy(SandboxId id, Grant layer);

  std::shared_ptr<Registry> registry_;
  const RuntimeHost& host_;
  const Boots& boots_;
  LayerTree& layers_;
  Jobs& jobs_;
  const std::uint32_t most_;
  WarmDemand demand_;
  std::deque<Kept> kept_;           // the oldest first
  std::weak_ptr<Booting> booting_;  // the boot under way owns it
  bool stopped_ = false;
  bool sleeps_ = false;                      // run() waits for longer than until the host is quiet
  std::deque<WarmDemand::Moment> requests_;  // the last creations
  WarmDemand::Moment lacking_since_{};       // no boot had its turn since then. 0: none is due
  std::vector<std::pair<BootSpec, WarmDemand::Moment>> failed_;  // boots, and when to try again
  std::uint64_t taken_ = 0, missed_ = 0;
  std::shared_ptr<Event> poked_;  // run() may be unwound after this is gone
};

}  // namespace cay::core
