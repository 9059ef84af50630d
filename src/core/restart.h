// Restart: at the daemon's start, brings rows and what lives together. The matrix is in README.md.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/jobs.h"
#include "core/lifecycle.h"
#include "core/pause.h"
#include "core/registry.h"
#include "core/runtimes.h"

namespace cay::core {

class Restart {
 public:
  Restart(std::shared_ptr<Registry> registry, Runtimes& runtimes, Boots& boots,
          Lifecycle& lifecycle, Pauses& pauses, Jobs& jobs, std::chrono::milliseconds boot_limit,
          std::string init_life)
      : registry_(std::move(registry)),
        runtimes_(runtimes),
        boots_(boots),
        lifecycle_(lifecycle),
        pauses_(pauses),
        jobs_(jobs),
        boot_limit_(boot_limit),
        init_life_(std::move(init_life)) {}

  // Loads every row, and for each runtime adopts what lives, marks what died with the reason, and
  // removes what nobody owns. Fails if the store cannot be read or the runtime cannot be queried.
  // One sandbox's trouble is logged.
  Task<void> run(std::function<void(std::string)> progress);

 private:
  // The state of one runtime's sandboxes at the start of this daemon.
  struct Found {
    std::map<SandboxId, std::shared_ptr<LiveSandbox>> alive;
    bool host_restarted = false;
    // Everything that ran ended: with the host, or with the container that Cay runs in.
    bool ended_together = false;
    std::set<SandboxId> disks;  // after a restart of the host: those that outlived it
  };
  Task<Found> look_at(const RuntimeHost& host, bool is_new, std::vector<SandboxId> known);
  Task<void> destroy_unowned();
  Result<void> note_hosts();
  void settle(const std::shared_ptr<Entry>& entry, const std::shared_ptr<LiveSandbox>& live);
  static bool lost_its_disk(const Sandbox& row, const Found& found);
  void adopt(const std::shared_ptr<Entry>& entry, const std::shared_ptr<LiveSandbox>& live);
  void adopted(Entry& entry, bool paused);
  Task<void> make_anew(std::shared_ptr<Entry> entry);
  Task<void> renew_policy(std::shared_ptr<Entry> entry);
  void fail(Entry& entry, std::string reason);
  void rest(Entry& entry, std::string why);

  std::shared_ptr<Registry> registry_;
  Runtimes& runtimes_;
  Boots& boots_;
  Lifecycle& lifecycle_;
  Pauses& pauses_;
  Jobs& jobs_;
  const std::chrono::milliseconds boot_limit_;
  const std::string init_life_;
  std::vector<std::shared_ptr<Outcome<void>>>
      asked_;                                  // all at once: one that is silent holds up none
  std::map<std::string, Found> found_;         // by the runtime's name
  std::map<SandboxId, std::string> stopping_;  // by the last daemon, which did not see their end
  std::map<SandboxId, std::string> creating_;  // answered for by the last daemon, and not made
};

}  // namespace cay::core
