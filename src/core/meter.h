// Meter: the use of each sandbox, over all its starts. The kernel counts CPU, and each look adds
// the difference since the last look to the totals. Memory is added up as trapezoids between looks.
// Looks are ten seconds apart while a sandbox is in use, and up to five minutes while nothing moves
// in it. Looks are written with the counters that they saw, so a daemon that was away goes on from
// there.
#pragma once
#include <map>
#include <memory>

#include "core/registry.h"
#include "core/runtimes.h"
#include "core/verbs/usage.h"

namespace cay::core {

class Meter : public Usage {
 public:
  Meter(std::shared_ptr<Registry> registry, const Runtimes& runtimes, Jobs& jobs);

  // After the restart brought rows and what lives together.
  Result<void> open();
  // Looks, now and then. Spawned once.
  Task<void> run();
  void stop();
  // Writes what was not written yet.
  Result<void> close();

  void on_state(const std::shared_ptr<Entry>& entry);
  // Before everything in it is ended: written when it returns.
  Task<void> last_look(std::shared_ptr<Entry> entry);

  Task<UsageTotals> of(Principal who, std::string ref) override;
  Task<UsageReport> report(Principal who, UsageQuery query) override;
  Task<std::vector<SandboxUse>> now(Principal who) override;
  Task<UsageSummary> summary(Principal who) override;

 private:
  struct Reading {
    UsageRow row;
    bool counts_time = false;  // ready, not paused
    LifeMillis interval = 0;
    bool unwritten = false;
    bool on_record = false;  // the store has a row of it
    std::uint64_t taken =
        0;  // the latest question whose answer was added, or that a change of state made moot
  };

  Task<void> look(std::shared_ptr<Entry> entry);
  // Returns the present use plus the earlier use. An answer that something newer has overtaken is
  // dropped, for it would count twice.
  Task<SandboxStats> asked(std::shared_ptr<Entry> entry);
  Task<SandboxUse> use_of(std::shared_ptr<Entry> entry);
  Reading& reading_of(const Entry& entry);
  void add(Entry& entry, Reading& reading, const SandboxStats& stats);
  void pass_time(const Entry& entry, Reading& reading, std::uint64_t memory_bytes);
  void take_bytes(Entry& entry, Reading& reading);
  bool due(const Entry& entry, LifeMillis now);
  Result<void> write();

  std::shared_ptr<Registry> registry_;
  const Runtimes& runtimes_;
  Jobs& jobs_;
  std::map<SandboxId, Reading> readings_;
  std::uint64_t questions_ = 0;
  std::shared_ptr<Event> wake_;
  bool stopped_ = false;
};

}  // namespace cay::core
