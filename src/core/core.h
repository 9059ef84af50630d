// CoreParts owns the parts and hands out the families of verbs. Core opens, measures and closes
// them. make_core() returns a Core as a Cay. Tests may reach the timers and the registry.
#pragma once
#include <memory>

#include "core/answer_room.h"
#include "core/builds.h"
#include "core/captures.h"
#include "core/cay.h"
#include "core/claims.h"
#include "core/code_runs.h"
#include "core/command_log.h"
#include "core/commands.h"
#include "core/contents.h"
#include "core/contexts.h"
#include "core/default_image.h"
#include "core/drain.h"
#include "core/events.h"
#include "core/file_changes.h"
#include "core/file_watches.h"
#include "core/files.h"
#include "core/forks.h"
#include "core/image_registries.h"
#include "core/imports.h"
#include "core/inspection.h"
#include "core/layer_tree.h"
#include "core/links.h"
#include "core/make_core.h"
#include "core/meter.h"
#include "core/pause.h"
#include "core/policies.h"
#include "core/pushes.h"
#include "core/restart.h"
#include "core/runtimes.h"
#include "core/sandboxes.h"
#include "core/secrets.h"
#include "core/snapshots.h"
#include "core/timers.h"
#include "core/tunnels.h"
#include "core/volumes.h"
#include "core/warm_pool.h"

namespace cay::core {

// FileParts: the families about files.
class FileParts : public virtual FileFamilies {
 public:
  FileParts(Wake& wake, Jobs& jobs)
      : files_(wake), file_changes_(wake), file_watches_(wake, jobs) {}
  Files& files() override { return files_; }
  FileChanges& file_changes() override { return file_changes_; }
  FileWatches& file_watches() override { return file_watches_; }

 protected:
  FileVerbs files_;
  FileChangeVerbs file_changes_;
  FileWatchVerbs file_watches_;
};

class CoreParts : public Cay, public FileParts {
 public:
  CoreParts(asio::any_io_executor loop, std::vector<NamedRuntime> runtimes, Store& store,
            Clock& clock, CoreConfig config);

  Sandboxes& sandboxes() override { return sandboxes_; }
  Claims& claims() override { return claims_; }
  Inspection& inspection() override { return inspection_; }
  Policies& policies() override { return policies_; }
  Snapshots& snapshots() override { return snapshots_; }
  ImageRegistries& image_registries() override { return image_registries_; }
  Builds& builds() override { return builds_; }
  Volumes& volumes() override { return volumes_; }
  Commands& commands() override { return commands_; }
  CodeRuns& code() override { return code_; }
  Contexts& contexts() override { return contexts_; }
  Tunnels& tunnels() override { return tunnels_; }
  Links& links() override { return links_; }
  Secrets& secrets() override { return secrets_; }
  Drain& drain() override { return drain_; }
  Events& events() override { return events_; }
  Usage& usage() override { return meter_; }
  Metrics& metrics() override { return metrics_; }
  AnswerRoom& answers() override { return answers_; }

 protected:
  const Defaults defaults_;
  const Timing timing_;
  Metrics metrics_;
  Tracer tracer_;
  std::optional<Check> store_check_;  // of the last second
  std::chrono::steady_clock::time_point store_checked_{};
  AnswerRoom answers_;
  Runtimes runtimes_;
  std::shared_ptr<Registry> registry_;
  Jobs jobs_;
  Proxies proxies_;
  Boots boots_;
  Lifecycle lifecycle_;
  Pauses pauses_;
  Wake wake_;
  Timers timers_;
  Restart restart_;
  CommandLog command_log_;
  EventLog events_;
  Meter meter_;
  RuleWork rule_work_;
  LayerTree layers_;
  Imports imports_;
  BuildsUnderWay building_;
  Captures captures_;
  Pushes pushes_;
  Forks forks_;
  WarmPool pool_;
  ImageRegistryVerbs image_registries_;
  SnapshotVerbs snapshots_;
  BuildCaches build_caches_;
  BuildVerbs builds_;
  DefaultImage default_image_;
  ContentVerbs contents_;
  VolumeVerbs volumes_;
  SandboxVerbs sandboxes_;
  ClaimVerbs claims_;
  InspectionVerbs inspection_;
  PolicyVerbs policies_;
  CommandVerbs commands_;
  ContextVerbs contexts_;
  CodeVerbs code_;
  TunnelVerbs tunnels_;
  LinkVerbs links_;
  SecretVerbs secrets_;
  DrainVerbs drain_;
};

class Core : public CoreParts {
 public:
  Core(asio::any_io_executor loop, std::vector<NamedRuntime> runtimes, Store& store, Clock& clock,
       CoreConfig config);

  Timers& timers() { return timers_; }
  Registry& registry() { return *registry_; }

  void on_span(std::function<void(Span)> called) override { tracer_.sink = std::move(called); }
  std::vector<Check> readiness() override;
  Task<std::vector<Feature>> features() override;
  Task<void> open(std::function<void(std::string)> progress) override;
  void part() override;
  Task<void> close(bool stop_sandboxes) override;

 private:
  Task<void> open_snapshots();
  void open_pool();
  Task<void> prepare_snapshots(std::function<void(std::string)> progress);
  void measure();

  std::vector<SnapshotId> prepared_;  // by the runtimes, at this start
  // The runtimes may report deaths for longer than the core lives.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cay::core
