// NativeRuntime: the Runtime port on this Linux host: the launcher makes and unmakes sandboxes, a
// keeper holds each one (ARCHITECTURE.md). Everything runs on the one loop.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ports/runtime.h"
#include "runtime/native/question_files.h"
#include "runtime/native/launcher_client.h"
#include "runtime/native/live_keepers.h"
#include "runtime/native/native_capabilities.h"
#include "runtime/native/native_layers.h"

namespace cay::runtime {

struct NativeConfig {
  std::string data;      // the data directory, absolute: DATA/run and DATA/spool are used
  std::string instance;  // DATA/instance
  std::string build;     // program version, for HELLO
  std::uint64_t spool_bytes =
      0;  // output kept of all commands of a sandbox; 0: the keeper's default
  std::uint64_t disk_reserve = 0;       // bytes of DATA's disk that commands' output leaves free
  std::string gate_goes_by{};           // what the gate should: see helper_state.h
  std::vector<std::string> networks{};  // special ranges that the operator opens to sandboxes
  bool nested_networks =
      false;  // in profile nested, containers may have network namespaces of their own
  wire::PrepareDefault prepare{};  // what the default snapshot is made with
  Millis launcher_limit{20'000};   // how long a verb waits for a launcher that does not answer
};

class NativeRuntime final : public core::Runtime, public QuestionFiles {
 public:
  NativeRuntime(asio::any_io_executor loop, NativeConfig config);
  // Closes all connections; sandboxes live on.
  ~NativeRuntime() override;

  // A cancelled boot closes its connections; the caller then destroys or stops the id.
  Task<std::shared_ptr<core::LiveSandbox>> boot(core::BootSpec spec) override;
  Task<void> stop(SandboxId id) override;
  Task<void> destroy(SandboxId id) override;
  Task<std::vector<SandboxId>> with_disk() override;
  Task<std::vector<std::pair<SandboxId, std::shared_ptr<core::LiveSandbox>>>> adopt(
      std::vector<SandboxId> known) override;
  Task<std::vector<Command>> stopped_commands(SandboxId id) override;
  Task<std::unique_ptr<core::CommandReader>> stopped_reader(SandboxId id, CommandId command,
                                                            core::OutputOffsets from) override;
  Task<ProgramPage> programs(SandboxId id, std::uint64_t offset, std::uint32_t limit) override;
  Task<void> set_policy(SandboxId id, std::string policy, std::string rules) override;
  Task<NetworkReport> network(SandboxId id) override;
  Task<DecidedPage> decisions(SandboxId id, DecidedQuery query) override;
  Task<SnapshotInfo> prepare_default_snapshot(std::function<void(std::string)> progress) override;
  core::Layers* layers() override { return &layers_; }
  core::VolumeDisks* volumes() override { return &volumes_; }
  void watch(std::function<void(core::SandboxDeath)> on_death) override;
  std::string host_boot_id() const override { return hello_.boot_id; }
  Task<std::vector<core::Feature>> features() override;
  core::RuntimeHealth health() const override;
  core::Capabilities capabilities() const override;
  void part() override;

 private:
  asio::any_io_executor loop_;
  NativeConfig config_;
  std::string spool_;  // the directory of all spools
  wire::Hello hello_;
  LauncherClient launcher_;
  NativeLayers layers_;
  NativeVolumes volumes_;
  NativeCapabilities can_;
  std::shared_ptr<LiveKeepers> live_;  // shared with handlers that may outlive us
};

}  // namespace cay::runtime
