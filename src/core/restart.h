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

namespace cay::core {

class Restart {
 public:
  Restart(std::shared_ptr<Registry> registry, Runtime& runtime, Admission& admission, Boots& boots,
          Lifecycle& lifecycle, Pauses& pauses, Jobs& jobs, std::chrono::milliseconds boot_limit,
          std::string init_life)
      : registry_(std::move(registry)),
        runtime_(runtime),
        admission_(admission),
        boots_(boots),
        lifecycle_(lifecycle),
        pauses_(pauses),
        jobs_(jobs),
        boot_limit_(boot_limit),
        init_life_(std::move(init_life)) {}

  // Loads every row, adopts what lives, marks what died with the reason, and removes what nobody
  // owns. Fails if the store cannot be read or the runtime cannot be queried. One sandbox's trouble
  // is logged.
  Task<void> run(std::function<void(std::string)> progress);

 private:
  void settle(const std::shared_ptr<Entry>& entry, const std::shared_ptr<LiveSandbox>& live);
  bool lost_its_disk(const Sandbox& row) const;
  void adopt(const std::shared_ptr<Entry>& entry, const std::shared_ptr<LiveSandbox>& live);
  void adopted(Entry& entry, bool paused);
  Task<void> make_anew(std::shared_ptr<Entry> entry);
  Task<void> renew_policy(std::shared_ptr<Entry> entry);
  void fail(Entry& entry, std::string reason);
  void rest(Entry& entry, std::string why);

  std::shared_ptr<Registry> registry_;
  Runtime& runtime_;
  Admission& admission_;
  Boots& boots_;
  Lifecycle& lifecycle_;
  Pauses& pauses_;
  Jobs& jobs_;
  const std::chrono::milliseconds boot_limit_;
  const std::string init_life_;
  std::vector<std::shared_ptr<Outcome<void>>>
      asked_;  // all at once: one that is silent holds up none
  bool host_restarted_ = false;
  bool ended_together_ =
      false;  // everything that ran: with the host, or with the container that Cay runs in
  std::map<SandboxId, std::string> stopping_;  // by the last daemon, which did not see their end
  std::map<SandboxId, std::string> creating_;  // answered for by the last daemon, and not made
  std::set<SandboxId> disks_;  // after a restart of the host: those that outlived it
};

}  // namespace cay::core
