// SandboxVerbs: core::Sandboxes over the registry. create.cc makes, sandboxes.cc does the rest.
#pragma once
#include <memory>

#include "base/metrics.h"
#include "core/boot.h"
#include "core/forks.h"
#include "core/layer_tree.h"
#include "core/lifecycle.h"
#include "core/pause.h"
#include "core/proxies.h"
#include "core/registry.h"
#include "core/settings.h"
#include "core/snapshots.h"
#include "core/tracer.h"
#include "core/verbs/sandboxes.h"
#include "core/warm_pool.h"

namespace cay::core {

class SandboxVerbs : public Sandboxes {
 public:
  SandboxVerbs(std::shared_ptr<Registry> registry, Boots& boots, Lifecycle& lifecycle,
               Pauses& pauses, Runtimes& runtimes, Jobs& jobs, Proxies& proxies,
               SnapshotVerbs& snapshots, LayerTree& layers, Forks& forks, WarmPool& pool,
               const Defaults& defaults, Timing timing)
      : registry_(std::move(registry)),
        boots_(boots),
        lifecycle_(lifecycle),
        pauses_(pauses),
        runtimes_(runtimes),
        jobs_(jobs),
        proxies_(proxies),
        snapshots_(snapshots),
        layers_(layers),
        forks_(forks),
        pool_(pool),
        defaults_(defaults),
        timing_(timing) {}

  Task<Sandbox> create(Principal who, SandboxSpec spec, CreateOptions options) override;
  // The pool keeps a sandbox for a request that has all defaults.
  void expect_usual();
  // Count creations and how long they take; may be absent.
  Metrics* metrics = nullptr;
  const Tracer* tracer = nullptr;

  Task<Sandbox> get(Principal who, std::string ref) override;
  Result<TenantId> tenant_of(const SandboxId& id) override;
  Task<SandboxPage> list(Principal who, SandboxQuery query) override;
  Task<Sandbox> update(Principal who, std::string ref, SandboxPatch patch) override;
  Task<Sandbox> start(Principal who, std::string ref) override;
  Task<void> stop(Principal who, std::string ref) override;
  Task<Sandbox> pause(Principal who, std::string ref) override;
  Task<Sandbox> resume(Principal who, std::string ref) override;
  Task<void> remove(Principal who, std::string ref) override;
  Task<std::vector<Sandbox>> fork(Principal who, std::string ref, ForkRequest request) override;
  Task<Sandbox> rollback(Principal who, std::string ref, std::string snapshot) override;
  Task<std::vector<Removal>> remove_all(Principal who, RemovalQuery query) override;

 private:
  // The snapshot of the request, or of its image, which is pulled if none has it.
  Task<SnapshotInfo> source_of(Principal who, SandboxSpec asked, CreateOptions options);
  Task<Sandbox> make(Principal who, SandboxSpec asked, CreateOptions options);
  Result<std::string> free_name(const TenantId& tenant);
  // Fails runtime_not_configured.
  Result<const RuntimeHost*> host_of(const SnapshotInfo& snapshot) const;
  Sandbox row_of(const Principal& who, SandboxSpec spec, const SnapshotInfo& snapshot) const;

  std::shared_ptr<Registry> registry_;
  Boots& boots_;
  Lifecycle& lifecycle_;
  Pauses& pauses_;
  Runtimes& runtimes_;
  Jobs& jobs_;
  Proxies& proxies_;
  SnapshotVerbs& snapshots_;
  LayerTree& layers_;
  Forks& forks_;
  WarmPool& pool_;
  const Defaults& defaults_;
  Timing timing_;
};

}  // namespace cay::core
