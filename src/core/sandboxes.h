// SandboxVerbs: core::Sandboxes over the registry. create.cc makes, sandboxes.cc does the rest.
#pragma once
#include <memory>

#include "base/metrics.h"
#include "core/boot.h"
#include "core/cay.h"
#include "core/lifecycle.h"
#include "core/needed_rules.h"
#include "core/pause.h"
#include "core/proxies.h"
#include "core/registry.h"
#include "core/rule_work.h"
#include "core/tracer.h"

namespace cay::core {

class SandboxVerbs : public Sandboxes {
 public:
  SandboxVerbs(std::shared_ptr<Registry> registry, Boots& boots, Lifecycle& lifecycle,
               Pauses& pauses, Admission& admission, Jobs& jobs, Proxies& proxies, Runtime& runtime,
               Defaults defaults, Timing timing)
      : registry_(std::move(registry)),
        boots_(boots),
        lifecycle_(lifecycle),
        pauses_(pauses),
        admission_(admission),
        jobs_(jobs),
        proxies_(proxies),
        runtime_(runtime),
        defaults_(std::move(defaults)),
        timing_(timing) {}

  // Sets the snapshot that `default` means: one of earlier settings may be the newest of that name.
  void use_default(SnapshotId id) { default_ = std::move(id); }

  Task<Sandbox> create(Principal who, SandboxSpec spec, CreateOptions options) override;
  // Count creations and how long they take; may be absent.
  Metrics* metrics = nullptr;
  const Tracer* tracer = nullptr;

  Task<Sandbox> get(Principal who, std::string ref) override;
  Task<SandboxPage> list(Principal who, SandboxQuery query) override;
  Task<Sandbox> update(Principal who, std::string ref, SandboxPatch patch) override;
  Task<Sandbox> start(Principal who, std::string ref) override;
  Task<void> stop(Principal who, std::string ref) override;
  Task<Sandbox> pause(Principal who, std::string ref) override;
  Task<Sandbox> resume(Principal who, std::string ref) override;
  Task<void> remove(Principal who, std::string ref) override;
  Task<std::vector<Removal>> remove_all(Principal who, RemovalQuery query) override;
  Task<UsageSummary> usage(Principal who) override;
  Task<std::vector<SnapshotInfo>> snapshots(Principal who) override;
  Task<SandboxStats> stats(Principal who, std::string ref) override;
  Task<ProgramPage> programs(Principal who, std::string ref, std::uint64_t offset,
                             std::uint32_t limit) override;
  Task<NetworkReport> network(Principal who, std::string ref) override;
  Task<DecidedPage> decisions(Principal who, std::string ref, DecidedQuery query,
                              std::chrono::milliseconds wait) override;
  Task<PolicyList> policies(Principal who) override;
  Task<PolicyTrial> try_policy(Principal who, PolicyQuestion question) override;

 private:
  Task<Sandbox> make(Principal who, SandboxSpec asked, CreateOptions options);
  std::vector<ProxiedHost> proxied_by(const Sandbox& row);
  Result<SnapshotInfo> snapshot_of(const std::string& name_or_id);
  Result<std::string> free_name(const TenantId& tenant);
  Sandbox row_of(const Principal& who, SandboxSpec spec, const SnapshotInfo& snapshot) const;

  std::shared_ptr<Registry> registry_;
  Boots& boots_;
  Lifecycle& lifecycle_;
  Pauses& pauses_;
  Admission& admission_;
  Jobs& jobs_;
  Proxies& proxies_;
  Runtime& runtime_;
  Defaults defaults_;
  Timing timing_;
  RuleWork rule_work_;
  SnapshotId default_{};
};

}  // namespace cay::core
