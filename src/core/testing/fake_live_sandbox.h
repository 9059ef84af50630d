// FakeLiveSandbox: a live sandbox in memory. Each role hands its calls to the fake commands or
// files. Tests make a role fail, wait or break off by its members.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "async/event.h"
#include "core/ports/runtime.h"
#include "core/testing/fake_commands.h"
#include "core/testing/fake_files.h"
#include "core/testing/fake_layers.h"

namespace cay::core::testing {

// The parts that outlive a stop: files, finished commands and written layers.
struct FakeDisk {
  std::shared_ptr<FakeCommands> commands;
  std::shared_ptr<FakeFiles> files;
  std::shared_ptr<FakeUpper> upper;
};

// FakeKeeper: what the roles of one sandbox share.
class FakeKeeper {
 public:
  FakeKeeper() = default;  // as a virtual base: the sandbox gives the disk
  explicit FakeKeeper(FakeDisk disk) : disk_(std::move(disk)) {}

  std::optional<Error> fault;  // every call fails with it: its keeper is in trouble
  SandboxStats numbers;        // the result of stats()
  FakeCommands& fake_commands() const { return *disk_.commands; }
  FakeFiles& fake_files() const { return *disk_.files; }
  FakeUpper& fake_upper() const { return *disk_.upper; }

 protected:
  Result<void> fault_of() const;
  Result<void> answers() const;  // also: it is not dead

 private:
  FakeDisk disk_;
};

class FakeLiveCommands : public virtual LiveCommands, public virtual FakeKeeper {
 public:
  Task<Command> start(CommandSpec spec) override;
  Task<std::unique_ptr<CommandReader>> attach(CommandId id, OutputOffsets from) override;
  Task<void> write_stdin(CommandId id, Bytes data, bool more) override;
  Task<void> close_stdin(CommandId id) override;
  Task<void> kill(CommandId id, int signal, std::string by) override;
  Task<void> resize(CommandId id, PtySize size) override;
  Task<Command> command(CommandId id) override;
  Task<std::vector<Command>> commands() override;
  Task<void> forget(CommandId id) override;
  void on_commands(CommandHandlers handlers) override;
  bool keeps_notes() const override;
  Task<void> noted(NoteMark through) override;
};

class FakeLiveFiles : public virtual LiveFiles, public virtual FakeKeeper {
 public:
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
};

// Keeps the rules of a keeper for one path. Trees and attributes are the keeper's own tests.
class FakeLiveFileChanges : public virtual LiveFileChanges, public virtual FakeKeeper {
 public:
  // The next watch reports the events and the end that a test adds here.
  struct Feed {
    explicit Feed(asio::any_io_executor loop) : changed(std::move(loop)) {}
    std::deque<FileEvent> events;
    std::optional<Error> end;
    bool watched = false;
    Event changed;
  };
  std::shared_ptr<Feed> feed;  // null: nothing can be watched

  Task<ChangeCount> set_mode(std::string path, FileAs as, TreeMode mode) override;
  Task<ChangeCount> set_owner(std::string path, FileAs as, TreeOwner owner) override;
  Task<ChangeCount> copy(CopyRequest request, FileAs as) override;
  Task<ChangeCount> move(CopyRequest request, FileAs as) override;
  Task<ReplaceResult> replace(ReplaceRequest request, FileAs as) override;
  Task<FileInfo> describe(std::string path, FileAs as, bool follow, FileFacts facts) override;
  Task<std::vector<FileInfo>> list_levels(std::string path, FileAs as,
                                          ListOptions options) override;
  Task<std::unique_ptr<FileWatch>> watch(std::string path, FileAs as, bool recursive) override;
};

class FakeLiveLayers : public virtual LiveLayers, public virtual FakeKeeper {
 public:
  std::optional<Error> write_layer_error;  // comes after the last entry
  // The content of directories, for read_layer().
  std::map<std::string, std::vector<LayerEvent>> directories;

  Task<void> write_layer(std::unique_ptr<LayerSource> entries) override;
  Task<std::unique_ptr<LayerSource>> read_layer(std::string path) override;
};

class FakeLiveTunnels : public virtual LiveTunnels, public virtual FakeKeeper {
 public:
  std::set<std::uint16_t> echo_ports;  // where something listens that sends back what it gets
  std::map<std::uint16_t, std::function<std::unique_ptr<Tunnel>()>> programs;  // what else listens
  int tunnels = 0;                                                             // open now
  std::optional<Error> tunnel_error;  // what listens breaks its connections

  Task<std::unique_ptr<Tunnel>> open_tunnel(std::uint16_t port) override;
};

class FakeLiveState : public virtual LiveState, public virtual FakeKeeper {
 public:
  bool silent = false;  // stats() waits as long
  // The next stats() returns when `held` ends, with the numbers of its begin.
  bool late = false;
  bool held = false;
  std::optional<Error> pause_error;

  Task<SandboxStats> stats() override;
  Task<void> pause() override;
  Task<void> resume() override;
};

class FakeLiveSandbox : public LiveSandbox,
                        public FakeLiveCommands,
                        public FakeLiveFiles,
                        public FakeLiveFileChanges,
                        public FakeLiveLayers,
                        public FakeLiveTunnels,
                        public FakeLiveState {
 public:
  FakeLiveSandbox(BootSpec spec, FakeDisk disk)
      : FakeKeeper(std::move(disk)), boot_spec(std::move(spec)) {}

  BootSpec boot_spec;
  std::optional<SandboxNetwork> way_out;
  bool hung_up = false;

  std::optional<SandboxNetwork> network() const override { return way_out; }
  bool has_hung_up() const override { return hung_up; }
};

}  // namespace cay::core::testing
