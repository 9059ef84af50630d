// FakeRuntime: isolated computers in memory. Boots can fail, hang until released, or take real
// time; whatever is alive, on disk or called is open to tests.
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
#include "core/testing/fake_commands.h"
#include "core/testing/fake_files.h"

namespace cay::core::testing {

// The parts that outlive a stop: files and finished commands.
struct FakeDisk {
  std::shared_ptr<FakeCommands> commands;
  std::shared_ptr<FakeFiles> files;
};

class FakeLiveSandbox : public LiveSandbox {
 public:
  FakeLiveSandbox(BootSpec spec, FakeDisk disk)
      : boot_spec(std::move(spec)), disk_(std::move(disk)) {}

  BootSpec boot_spec;
  std::set<std::uint16_t> echo_ports;  // where something listens that sends back what it gets
  std::map<std::uint16_t, std::function<std::unique_ptr<Tunnel>()>> programs;  // what else listens
  int tunnels = 0;                                                             // open now
  std::optional<Error> tunnel_error;  // what listens breaks its connections
  SandboxStats numbers;               // what stats() gives
  bool silent = false;                // stats() waits as long
  bool late =
      false;  // the next answer of stats() comes when `held` ends, and is as of the question
  bool held = false;
  std::optional<Error> pause_error;
  std::optional<Error> fault;  // every call fails with it: its keeper is in trouble
  FakeCommands& fake_commands() { return *disk_.commands; }
  FakeFiles& fake_files() { return *disk_.files; }

  Task<Command> start(CommandSpec spec) override;
  Task<std::unique_ptr<CommandReader>> attach(CommandId id, OutputOffsets from) override;
  Task<void> write_stdin(CommandId id, Bytes data, bool more) override;
  Task<void> close_stdin(CommandId id) override;
  Task<void> kill(CommandId id, int signal, std::string by) override;
  Task<void> resize(CommandId id, PtySize size) override;
  Task<Command> command(CommandId id) override;
  Task<std::vector<Command>> commands() override;
  Task<void> forget(CommandId id) override;
  void on_commands(CommandHandlers handlers) override {
    disk_.commands->listen(std::move(handlers.ended), std::move(handlers.note));
  }
  bool keeps_notes() const override { return disk_.commands->keeps_notes; }
  Task<void> noted(NoteMark through) override {
    std::erase_if(disk_.commands->notes,
                  [&](const auto& note) { return note.first.number <= through.number; });
    co_return Result<void>();
  }
  Task<FileInfo> stat(std::string path, FileAs as, bool follow) override;
  Task<FileStream> read(std::string path, FileAs as, ReadRange range) override;
  Task<FileInfo> write(std::string path, WriteOptions options,
                       std::unique_ptr<ByteSource> data) override;
  Task<std::vector<FileInfo>> list(std::string path, FileAs as) override;
  Task<void> make_directory(std::string path, FileAs as, std::uint32_t mode) override;
  Task<void> remove(std::string path, FileAs as, bool recursive) override;
  Task<void> rename(std::string from, std::string to, FileAs as) override;
  Task<GlobResult> glob(std::string root, std::string pattern, FileAs as,
                        std::uint32_t limit) override;
  Task<GrepResult> grep(std::string root, std::string text, std::string file_glob, FileAs as,
                        std::uint32_t limit) override;
  Task<std::unique_ptr<TreeSource>> read_tree(std::string path, FileAs as) override;
  Task<void> write_tree(std::string path, FileAs as, std::unique_ptr<TreeSource> tree) override;
  Task<SandboxStats> stats() override;
  Task<void> pause() override;
  Task<void> resume() override;
  Task<std::unique_ptr<Tunnel>> open_tunnel(std::uint16_t port) override;
  std::optional<SandboxNetwork> way_out;
  std::optional<SandboxNetwork> network() const override { return way_out; }

 private:
  Result<void> fault_of() const;
  Result<void> answers() const;  // also: it is not dead
  FakeDisk disk_;
};

class FakeRuntime : public Runtime {
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
  std::optional<Error>
      record_error;                // what is kept of sandboxes on this host's disk cannot be read
  std::string no_network;          // why no sandbox can have a way out; empty: they can
  std::string boot_id = "boot-a";  // another one: the host was restarted
  SnapshotInfo default_snapshot;   // ready, with a fixed id
  std::vector<ProgramEvent> recorded_programs;  // of every sandbox; an offset is an index
  NetworkReport network_report;                 // of every sandbox
  std::vector<Decided> decided;                 // of every sandbox
  std::optional<Error> policy_error;            // what set_policy() fails with
  std::map<SandboxId, std::pair<std::string, std::string>>
      policies;  // that were set, with their rules
  std::map<SandboxId, std::pair<std::string, std::string>>
      in_force;  // what each goes by: a boot goes by its own, whatever was set before its end
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
  std::map<SandboxId, FakeDisk> disks;
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
  Task<std::vector<Command>> stopped_commands(SandboxId id) override;
  Task<std::unique_ptr<CommandReader>> stopped_reader(SandboxId id, CommandId command,
                                                      OutputOffsets from) override;
  Task<ProgramPage> programs(SandboxId id, std::uint64_t offset, std::uint32_t limit) override;
  Task<void> set_policy(SandboxId id, std::string policy, std::string rules) override;
  Task<NetworkReport> network(SandboxId id) override;
  Task<DecidedPage> decisions(SandboxId id, DecidedQuery query) override;
  Task<SnapshotInfo> prepare_default_snapshot(std::function<void(std::string)> progress) override;
  void watch(std::function<void(SandboxDeath)> on_death) override;
  std::string host_boot_id() const override { return boot_id; }
  Task<std::vector<Feature>> features() override;

 private:
  FakeDisk& disk_of(const SandboxId& id);
  asio::any_io_executor loop_;
  Clock& clock_;
  Event boots_released_;
  Event stops_released_;
  std::function<void(SandboxDeath)> on_death_;
};

}  // namespace cay::core::testing
