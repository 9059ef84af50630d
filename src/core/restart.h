// Restart: at the daemon's start, brings rows and what lives together. The matrix is in README.md.
#pragma once
#include <functional>
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
  Restart(std::shared_ptr<Registry> registry, Runtime& runtime, Admission& admission, Lifecycle& lifecycle, Pauses& pauses, Jobs& jobs)
      : registry_(std::move(registry)), runtime_(runtime), admission_(admission), lifecycle_(lifecycle), pauses_(pauses), jobs_(jobs) {}

  // Loads every row, adopts what lives, marks what died with the reason, removes what nobody owns.
  // Fails if the store cannot be read or the runtime not asked; one sandbox's trouble is warned of.
  Task<void> run(std::function<void(std::string)> progress);

 private:
  void settle(const std::shared_ptr<Entry>& entry, const std::shared_ptr<LiveSandbox>& live);
  bool lost_its_disk(const Sandbox& row) const;
  void adopt(const std::shared_ptr<Entry>& entry, const std::shared_ptr<LiveSandbox>& live);
  void adopted(Entry& entry, bool paused);
  Task<void> renew_policy(std::shared_ptr<Entry> entry);
  void fail(Entry& entry, std::string reason);
  void rest(Entry& entry);

  std::shared_ptr<Registry> registry_;
  Runtime& runtime_;
  Admission& admission_;
  Lifecycle& lifecycle_;
  Pauses& pauses_;
  Jobs& jobs_;
  std::vector<std::shared_ptr<Outcome<void>>> asked_;  // all at once: one that is silent holds up none
  bool host_restarted_ = false;
  std::set<SandboxId> stopping_;  // by the last daemon, which did not see their end
  std::set<SandboxId> disks_;  // after a restart of the host: those that outlived it
};

}  // namespace cay::core
