// AsyncClient: Cay from coroutines of Boost.Asio, on the caller's executor. The same verbs as
// cay::Client; everything throws cay::ApiError. Handles stay on the executor they were made for.
//
//   asio::awaitable<void> hello() {
//     cay::AsyncClient cay(co_await asio::this_coro::executor);
//     auto box = co_await cay.create();
//     std::vector<std::string> argv{"uname", "-a"};
//     auto got = co_await box.run(argv);
//     std::cout << got.out;
//     co_await box.remove();
//   }
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cay/code.h"
#include "cay/error.h"
#include "cay/types.h"

namespace cay::sdk {

template <class T>
using Awaitable = boost::asio::awaitable<T>;

struct AsyncState;         // of the implementation
struct AsyncPlace;         // of the implementation
struct AsyncCommandState;  // of the implementation
struct AsyncTunnelState;   // of the implementation

class AsyncCommand {
 public:
  const std::string& id() const;
  // As of the start or the attach.
  const CommandInfo& started() const;
  Awaitable<Event> next();  // one caller at a time
  Awaitable<CommandResult> wait(OutputCallbacks callbacks = {}, std::size_t keep = 16u << 20);
  Awaitable<void> write_stdin(std::string bytes);
  Awaitable<void> close_stdin();
  Awaitable<void> kill(int signal = 0);
  Awaitable<void> resize(TerminalSize size);

  explicit AsyncCommand(std::shared_ptr<AsyncCommandState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<AsyncCommandState> state_;
};

// One TCP connection to what listens inside. The last handle's end resets one that is not over.
class AsyncTunnel {
 public:
  Awaitable<std::string> read();             // one caller at a time; "": the program sends no more
  Awaitable<void> write(std::string bytes);  // done when they are on their way: back-pressure
  Awaitable<void> shut_write();              // the program inside reads to its end

  explicit AsyncTunnel(std::shared_ptr<AsyncTunnelState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<AsyncTunnelState> state_;
};

// Runs commands in a sandbox, and finds those that run.
class AsyncSandboxCommands {
 public:
  // `argv` is a program and its arguments; run_shell takes a line of sh.
  Awaitable<CommandResult> run(std::vector<std::string> argv, CommandOptions options = {}) const;
  Awaitable<CommandResult> run_shell(std::string line, CommandOptions options = {}) const;
  // Runs a program that is given as text, and waits for its end. ApiError kInvalidArgument
  // "toolchain_missing": the sandbox lacks the language.
  Awaitable<CodeResult> run_code(std::string code, CodeOptions options) const;
  // Starts, with a reader from the first byte.
  Awaitable<AsyncCommand> spawn(std::vector<std::string> argv, CommandOptions options = {}) const;
  Awaitable<AsyncCommand> spawn_shell(std::string line, CommandOptions options = {}) const;
  // Starts without a reader. attach() gives one later, from here or elsewhere.
  Awaitable<CommandInfo> start_detached(std::vector<std::string> argv,
                                        CommandOptions options = {}) const;
  Awaitable<AsyncCommand> attach(std::string command_id, Offsets from = {}) const;
  Awaitable<std::vector<CommandInfo>> commands() const;
  Awaitable<CommandInfo> command(std::string command_id) const;
  Awaitable<void> kill(std::string command_id, int signal = 0) const;
  Awaitable<void> forget(std::string command_id) const;

 protected:
  explicit AsyncSandboxCommands(std::shared_ptr<const AsyncPlace> place)
      : place_(std::move(place)) {}

 private:
  std::shared_ptr<const AsyncPlace> place_;
};

// Reads and writes a sandbox's files. Paths are absolute. `user` empty: root. `mode` 0: 0644 for a
// new file, else as it was.
class AsyncSandboxFiles {
 public:
  Awaitable<std::string> read_file(std::string path, std::string user = {}) const;
  Awaitable<FileInfo> write_file(std::string path, std::string bytes, std::uint32_t mode = 0,
                                 std::string user = {}) const;
  Awaitable<FileInfo> stat(std::string path, std::string user = {}) const;
  Awaitable<std::vector<FileInfo>> list(std::string path, std::string user = {}) const;
  Awaitable<void> make_directory(std::string path, std::string user = {}) const;
  Awaitable<void> remove_path(std::string path, bool recursive = false,
                              std::string user = {}) const;
  Awaitable<void> rename(std::string from, std::string to, std::string user = {}) const;
  Awaitable<std::vector<FileInfo>> glob(std::string root, std::string pattern) const;
  Awaitable<std::vector<GrepMatch>> grep(std::string root, std::string text,
                                         std::string glob = {}) const;

 protected:
  explicit AsyncSandboxFiles(std::shared_ptr<const AsyncPlace> place) : place_(std::move(place)) {}

 private:
  std::shared_ptr<const AsyncPlace> place_;
};

// Changes a sandbox's files beyond their content, reads and writes several, and watches
// directories. `user` empty: root.
class AsyncSandboxFileChanges {
 public:
  Awaitable<ChangeCount> set_mode(std::string path, std::uint32_t mode, bool recursive = false,
                                  std::string user = {}) const;
  // `owner`: USER, USER:GROUP or :GROUP, by name or number.
  Awaitable<ChangeCount> set_owner(std::string path, std::string owner, bool recursive = false,
                                   std::string user = {}) const;
  // Copies files, and directories with all below them. `exclusive`: fails if `to` exists.
  Awaitable<ChangeCount> copy(std::string from, std::string to, bool exclusive = false,
                              std::string user = {}) const;
  // As AsyncSandboxFiles::rename, and to other file systems too.
  Awaitable<ChangeCount> move(std::string from, std::string to, bool exclusive = false,
                              std::string user = {}) const;
  // Replaces a literal text in the file `path`, or in the files below it that match `glob`.
  Awaitable<ReplaceReport> replace(std::string path, std::string text, std::string replacement,
                                   std::string glob = {}, std::string user = {}) const;
  // Entries down to `depth` levels.
  Awaitable<std::vector<FileInfo>> list_levels(std::string path, std::uint32_t depth,
                                               FileFacts facts = {}, std::string user = {}) const;
  // Each with its content or its error, in the order of `paths`.
  Awaitable<std::vector<FileContent>> read_files(std::vector<std::string> paths,
                                                 std::string user = {}) const;
  // Returns for each file its path, and its error if it was not written.
  Awaitable<std::vector<FileContent>> write_files(std::vector<FileToWrite> files,
                                                  std::string user = {}) const;

  // Watches a directory and those below it. Returns the id of the watch. It ends when nobody has
  // read for `idle_s`, and when the sandbox stops.
  Awaitable<std::string> watch(std::string path, std::int64_t idle_s = 300,
                               std::string user = {}) const;
  // The events after the number `after`. Waits up to `wait_s` for the first.
  Awaitable<FileEvents> watch_events(std::string id, std::uint64_t after,
                                     std::uint32_t wait_s = 0) const;
  Awaitable<void> end_watch(std::string id) const;

 protected:
  explicit AsyncSandboxFileChanges(std::shared_ptr<const AsyncPlace> place)
      : place_(std::move(place)) {}

 private:
  std::shared_ptr<const AsyncPlace> place_;
};

// A handle of one sandbox. The synchronous client also copies whole trees and forwards ports.
class AsyncSandbox : public AsyncSandboxCommands,
                     public AsyncSandboxFiles,
                     public AsyncSandboxFileChanges {
 public:
  const std::string& ref() const;
  Awaitable<SandboxInfo> info() const;
  Awaitable<SandboxInfo> update(UpdateOptions options) const;
  Awaitable<SandboxInfo> start(double timeout_s = 60) const;
  Awaitable<SandboxInfo> stop() const;
  Awaitable<SandboxInfo> pause() const;
  Awaitable<SandboxInfo> resume() const;
  Awaitable<void> remove() const;
  Awaitable<Stats> stats() const;
  // The programs that ran, if it was created with record_programs, from `offset` of an earlier
  // page on.
  Awaitable<ProgramPage> programs(std::uint64_t offset = 0, std::uint32_t limit = 1000) const;
  Awaitable<NetworkReport> network() const;

  // Makes a snapshot of its disk as it is at this moment. `name`: NAME or NAME:TAG. The memory of
  // its processes is not part of it.
  Awaitable<Snapshot> capture(std::string name) const;
  // Makes sandboxes with a disk like this one's, all as of one moment.
  Awaitable<std::vector<SandboxInfo>> fork(ForkOptions options = {}) const;
  // Stops it, drops what its disk changed since its snapshot, and boots it. `to` empty: from the
  // snapshot that it stands on, else from that one.
  Awaitable<SandboxInfo> rollback(std::string to = {}) const;
  // Compares its disk with the snapshot that it stands on, path by path.
  Awaitable<DiffSummary> diff(OnChange change) const;

  // A connection to `port` of the sandbox's own loopback. ApiError kNotReady "connect_refused".
  Awaitable<AsyncTunnel> connect(std::uint16_t port) const;

  AsyncSandbox(std::shared_ptr<AsyncState> client, std::string ref);

 private:
  explicit AsyncSandbox(std::shared_ptr<const AsyncPlace> place);

  std::shared_ptr<const AsyncPlace> place_;
};

// The snapshots that sandboxes can boot from. `ref`: a name, "name:tag" or an id. The synchronous
// client also builds, imports and exports them.
class AsyncSnapshotStore {
 public:
  Awaitable<std::vector<Snapshot>> list() const;  // the default one first
  Awaitable<Snapshot> get(std::string ref) const;
  // Begins to pull an image from its registry: wait() returns when it can be booted.
  Awaitable<Snapshot> pull(PullOptions options) const;
  // Waits until a snapshot is ready. ApiError kNotReady "snapshot_failed".
  Awaitable<Snapshot> wait(std::string id, SnapshotProgress progress = {}) const;
  // Moves the tag of that snapshot's name to it: tag("tools:2", "stable") makes tools:stable.
  Awaitable<Snapshot> tag(std::string ref, std::string tag) const;
  // Pushes it to a registry as an image, and waits for the end. ApiError kUnavailable
  // "push_failed".
  Awaitable<PushState> push(std::string ref, PushOptions options, PushProgress progress = {}) const;
  Awaitable<void> remove(std::string ref) const;  // ApiError kConflict: something needs it

  explicit AsyncSnapshotStore(std::shared_ptr<AsyncState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<AsyncState> state_;
};

// The directories that sandboxes mount, and that outlive them. `ref`: a name or an id.
class AsyncVolumeStore {
 public:
  Awaitable<std::vector<Volume>> list() const;
  Awaitable<Volume> get(std::string ref) const;
  // `disk_bytes`: its limit. 0: the daemon's default. ApiError kAlreadyExists "volume_exists".
  Awaitable<Volume> create(std::string name, std::uint64_t disk_bytes = 0) const;
  Awaitable<Volume> resize(std::string ref, std::uint64_t disk_bytes) const;
  Awaitable<void> remove(std::string ref) const;  // ApiError kConflict: a sandbox has it

  explicit AsyncVolumeStore(std::shared_ptr<AsyncState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<AsyncState> state_;
};

// As Ensured of the synchronous client.
struct AsyncEnsured {
  AsyncSandbox sandbox;
  SandboxInfo info;
  bool created = false;
};

class AsyncClient {
 public:
  explicit AsyncClient(boost::asio::any_io_executor executor,
                       const ClientOptions& options = ClientOptions::from_environment());
  Awaitable<AsyncSandbox> create(CreateOptions options = {}) const;
  // Returns the sandbox that has `claim`, and makes it if there is none: see Client::ensure.
  Awaitable<AsyncEnsured> ensure(std::string claim, CreateOptions options = {}) const;
  AsyncSandbox sandbox(std::string id_or_name) const;  // a handle; sends no request
  Awaitable<std::vector<SandboxInfo>> list(ListOptions options = {}) const;
  // Makes a sandbox, runs a program in it and removes it, also when the run fails.
  Awaitable<CodeResult> run_code(std::string code, CodeOptions options,
                                 CreateOptions sandbox = {}) const;
  AsyncSnapshotStore snapshot_store() const;
  AsyncVolumeStore volume_store() const;
  Awaitable<std::vector<Feature>> doctor() const;
  Awaitable<Version> version() const;
  // Any route of docs/api.md, for what has no method here: the answer's body.
  Awaitable<std::string> request(std::string method, std::string target,
                                 std::string json = {}) const;

  explicit AsyncClient(std::shared_ptr<AsyncState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<AsyncState> state_;
};

}  // namespace cay::sdk

namespace cay {
using sdk::AsyncClient;
}
