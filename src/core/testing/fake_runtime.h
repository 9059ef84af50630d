// FakeRuntime: isolated computers in memory. Boots can fail, hang until released, or take real
// time; whatever is alive, on disk or called is open to tests. A boot with `disk_of` copies files
// and written layers. read_layer() reads a mount of a sealed layer at its path.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "async/event.h"
#include "core/ports/runtime.h"
#include "core/testing/fake_records.h"

namespace cay::core::testing {

class FakeRuntime : public FakeRecords {
 public:
  explicit FakeRuntime(asio::any_io_executor loop, Clock& clock = system_clock());

  // Moods, set by tests at any time.
  std::optional<Error> boot_error;               // every boot fails with it
  std::deque<std::optional<Error>> boot_script;  // or: boot by boot, first in first out
  bool leaves_remains = false;  // a failing boot leaves its disk behind (a broken runtime)
  bool hold_boots = false;      // boots wait for release_boots()
  std::chrono::milliseconds boot_time{0};  // real time that a boot takes
  bool hold_stops = false;                 // stops wait for release_stops()
  std::optional<Error> stop_error;
  std::optional<Error> destroy_error;
  std::optional<Error> prepare_error;
  std::string no_network;             // why no sandbox can have a way out; empty: they can
  std::string boot_id = "boot-a";     // another one: the host was restarted
  SnapshotInfo default_snapshot;      // ready, with a fixed id
  Capabilities can;                   // what it reports; it does the rest all the same
  std::optional<Error> policy_error;  // what set_policy() fails with
  std::map<SandboxId, std::pair<std::string, std::string>>
      policies;  // that were set, with their rules
  std::map<SandboxId, std::pair<std::string, std::string>>
      in_force;  // what each goes by: a boot goes by its own, whatever was set before its end
  FakeLayers fake_layers;
  FakeVolumes fake_volumes;
  bool has_layers = true;  // false: layers() and volumes() are null
  // The program of commands in sandboxes booted from now on.
  std::function<FakeProgram(const CommandSpec&)> program;

  void release_boots();
  void release_stops();
  // The sandbox dies unrequested: readers fail kLost, and the watcher is called.
  void die(const SandboxId& id, const std::string& reason);
  // A sandbox that lives though this daemon did not boot it (for adopt()).
  std::shared_ptr<FakeLiveSandbox> put_alive(const SandboxId& id);
  FakeLiveSandbox& box(const SandboxId& id) { return *alive.at(id); }
  FakeLiveSandbox& only_box();

  std::map<SandboxId, std::shared_ptr<FakeLiveSandbox>> alive;
  std::vector<BootSpec> boots;  // every requested boot
  std::vector<SandboxId> stops;
  std::vector<SandboxId> destroys;
  std::vector<SandboxId> known_at_adopt;
  int booting = 0;       // under way now
  int most_booting = 0;  // at any time

  Task<std::shared_ptr<LiveSandbox>> boot(BootSpec spec) override;
  Task<void> stop(SandboxId id) override;
  Task<void> destroy(SandboxId id) override;
  Task<std::vector<SandboxId>> with_disk() override;
  Task<std::vector<std::pair<SandboxId, std::shared_ptr<LiveSandbox>>>> adopt(
      std::vector<SandboxId> known) override;
  Task<void> set_policy(SandboxId id, std::string policy, std::string rules) override;
  Task<SnapshotInfo> prepare_default_snapshot(std::function<void(std::string)> progress) override;
  Layers* layers() override { return has_layers ? &fake_layers : nullptr; }
  VolumeDisks* volumes() override { return has_layers ? &fake_volumes : nullptr; }
  void watch(std::function<void(SandboxDeath)> on_death) override;
  std::string host_boot_id() const override { return boot_id; }
  Task<std::vector<Feature>> features() override;
  Capabilities capabilities() const override { return can; }

 private:
  Event boots_released_;
  Event stops_released_;
  std::function<void(SandboxDeath)> on_death_;
};

}  // namespace cay::core::testing
