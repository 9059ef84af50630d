// The runtime port: how the core makes, finds and unmakes isolated computers. Implemented by
// runtime/native (and a fake in core/testing). Knows no HTTP, no tenant, no name.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "async/task.h"
#include "core/ports/capabilities.h"
#include "core/ports/tunnel.h"
#include "model/command.h"
#include "model/event.h"
#include "model/file.h"
#include "model/network.h"
#include "model/program.h"
#include "model/sandbox.h"

namespace cay::core {

struct OutputData {
  Stream stream = Stream::kStdout;
  std::uint64_t offset = 0;  // of the first byte, in the raw stream
  Bytes bytes;
  bool after_end = false;  // written after the leader's end, by children left
};
struct OutputGap {  // bytes the spool dropped: [offset, offset+length)
  Stream stream = Stream::kStdout;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
// Comes once, after every byte up to the leader's end offsets was delivered; the stream then ends.
struct OutputEnd {
  Command command;
};
using OutputEvent = std::variant<OutputData, OutputGap, OutputEnd>;

// A reader of one command. Destroying it detaches (and counts for idle_timeout and
// kill_on_disconnect). Pull: what is not asked for stays in the spool.
class CommandReader {
 public:
  virtual ~CommandReader() = default;
  virtual const Command& command() const = 0;  // as of the attach
  virtual Task<OutputEvent> next() = 0;        // one caller at a time; kLost if the keeper is gone
};

struct OutputOffsets {
  std::uint64_t out = 0;
  std::uint64_t err = 0;
};

struct WriteOptions {
  FileAs as;
  std::uint32_t mode = 0644;  // of a new file
  bool create_parents = true;
  bool keep_mode = true;  // an existing file keeps its mode
};

struct ReadRange {
  std::uint64_t offset = 0;
  std::int64_t length = -1;  // -1: to the end
};

// One entry of a tree transfer; a kFile entry is followed by exactly `info.size` bytes of data.
struct TreeEntry {
  FileInfo info;  // path relative to the transfer's root, "" for the root itself
};
using TreeEvent = std::variant<TreeEntry, Bytes>;
class TreeSource {
 public:
  virtual ~TreeSource() = default;
  virtual Task<std::optional<TreeEvent>> next() = 0;  // nullopt: the end
};

struct FileStream {
  FileInfo info;
  std::unique_ptr<ByteSource> bytes;
};

struct SandboxStats {
  std::uint64_t cpu_usec = 0;
  std::uint64_t memory_bytes = 0;  // now, tmpfs included
  std::uint64_t tmpfs_bytes = 0;
  std::uint32_t pids = 0;
  std::uint32_t oom_kills = 0;
  std::uint32_t running_commands = 0;
  bool paused = false;
  // How long ago the last command ended; 0 while one runs. Absent: none ever ran, or nobody knows.
  std::optional<std::int64_t> quiet_ms;
};

// A live sandbox: a connection to its keeper. All calls may overlap.
class LiveSandbox {
 public:
  virtual ~LiveSandbox() = default;

  // The way out that its start gave it. Absent: whoever started it knew of none, or nobody knows.
  virtual std::optional<SandboxNetwork> network() const { return std::nullopt; }

  // Get-or-create by spec.id. Fails kConflict (same id, other request, unless ignore_mismatch),
  // kInvalidArgument (reason bad_cwd, bad_user, command_not_found with the errno), kExhausted.
  virtual Task<Command> start(CommandSpec spec) = 0;
  virtual Task<std::unique_ptr<CommandReader>> attach(CommandId id, OutputOffsets from) = 0;
  // Completes when the keeper took the bytes (it buffers at most 1 MiB). kNotReady: stdin closed.
  // `more`: there is more of it behind this; a keeper that loses us before that comes ends the
  // command as lost, for it would take a part for the whole, or wait for ever. Without data it is
  // said alone.
  virtual Task<void> write_stdin(CommandId id, Bytes data, bool more) = 0;
  virtual Task<void> close_stdin(CommandId id) = 0;
  // signal 0: SIGKILL to the whole tree (state kKilled by `by`). Others go to the leader's group.
  virtual Task<void> kill(CommandId id, int signal, std::string by) = 0;
  virtual Task<void> resize(CommandId id, PtySize size) = 0;
  virtual Task<Command> command(CommandId id) = 0;
  virtual Task<std::vector<Command>> commands() = 0;
  virtual Task<void> forget(CommandId id) = 0;  // of a finished command: removes its spool
  // Called on the daemon's loop; argv, cwd and user are left out.
  struct CommandHandlers {
    // A command ended. A hint that may be lost: commands() tells for certain.
    std::function<void(const Command&)> ended;
    // A command started (it is running) or ended; comes before start() returns, in the order of
    // numbers, again on each connection, also a later daemon's, until it is noted().
    std::function<void(NoteMark, const Command&)> note;
  };
  virtual void on_commands(CommandHandlers /*handlers*/) {}
  // Whether all starts and ends come as notes, and none as a hint. Known once anything was
  // answered.
  virtual bool keeps_notes() const { return false; }
  // All notes up to this one are on record.
  virtual Task<void> noted(NoteMark /*through*/) { co_return Result<void>(); }

  virtual Task<FileInfo> stat(std::string path, FileAs as, bool follow) = 0;
  virtual Task<FileStream> read(std::string path, FileAs as, ReadRange range) = 0;
  // Writes to a temporary file beside `path` and renames: a reader sees the old or the new file.
  virtual Task<FileInfo> write(std::string path, WriteOptions options,
                               std::unique_ptr<ByteSource> data) = 0;
  virtual Task<std::vector<FileInfo>> list(std::string path, FileAs as) = 0;
  virtual Task<void> make_directory(std::string path, FileAs as,
                                    std::uint32_t mode) = 0;  // parents too
  virtual Task<void> remove(std::string path, FileAs as, bool recursive) = 0;
  virtual Task<void> rename(std::string from, std::string to, FileAs as) = 0;
  virtual Task<GlobResult> glob(std::string root, std::string pattern, FileAs as,
                                std::uint32_t limit) = 0;
  virtual Task<GrepResult> grep(std::string root, std::string text, std::string file_glob,
                                FileAs as, std::uint32_t limit) = 0;
  virtual Task<std::unique_ptr<TreeSource>> read_tree(std::string path, FileAs as) = 0;
  virtual Task<void> write_tree(std::string path, FileAs as, std::unique_ptr<TreeSource> tree) = 0;

  virtual Task<SandboxStats> stats() = 0;

  // Holds every command still, with its memory, until resume(): no CPU, and its timers stand still.
  // Output that was written can be read, and file work goes on; start() fails kNotReady
  // (sandbox_paused). Both are idempotent. kUnsupported (pause_unsupported) without cgroups;
  // kDeadlineExceeded (pause_timeout): it runs on.
  virtual Task<void> pause() = 0;
  virtual Task<void> resume() = 0;
  // Connects to 127.0.0.1:port inside, else to [::1]:port. Fails kNotReady (connect_refused)
  // nothing listens there; kDeadlineExceeded (connect_timed_out); kExhausted (too_many_tunnels).
  virtual Task<std::unique_ptr<Tunnel>> open_tunnel(std::uint16_t port) = 0;
};

struct BootSpec {
  SandboxId id;
  std::string hostname;  // from the sandbox's name
  SnapshotId snapshot;
  Limits limits;                        // no zeros
  RunConfig run;                        // image < snapshot < sandbox, layered; for every command
  bool record_programs = false;         // kUnsupported (programs_unsupported) where the host cannot
  Profile profile = Profile::kDefault;  // kUnsupported (profile_unsupported) where it cannot be
                                        // had: never a weaker one
  TmpfsMounts tmpfs{};   // kUnsupported (tmpfs_unsupported), kInvalidArgument (invalid_tmpfs)
  std::string policy{};  // off: no way out
  std::string rules{};   // of the policy "rules"
  // kUnsupported (network_unsupported) where the host cannot give what `policy` asks for; false: it
  // comes up without, and LiveSandbox::network() says so.
  bool network_required = false;
};

// How a live sandbox ended without being asked to.
struct SandboxDeath {
  SandboxId id;
  std::string reason;  // "keeper lost", "init killed", ...
};

struct Feature {
  std::string name;  // "cgroup", "idmapped mounts", "disk quota", ...
  bool ok = false;
  std::string found;     // what the host has
  std::string fallback;  // what is used instead, or what is lost
  std::string remedy;    // the command that mends it; empty if none
};

// How the runtime itself is, without asking anybody.
struct RuntimeHealth {
  bool reachable = true;         // what makes and ends sandboxes answers
  std::uint64_t reconnects = 0;  // to it, since this daemon started: it was restarted so often
  bool gate_serves = true;       // sandboxes' way out
  bool broker_serves = true;     // who keeps secrets
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  // Makes the disk if there is none, and boots. A failure leaves no process, mount or cgroup
  // (and no disk, if it made it).
  virtual Task<std::shared_ptr<LiveSandbox>> boot(BootSpec spec) = 0;
  // Ends everything in it; keeps the disk and the spools. Idempotent.
  virtual Task<void> stop(SandboxId id) = 0;
  // Stops, and removes the disk, the spools and every other trace. Idempotent.
  virtual Task<void> destroy(SandboxId id) = 0;

  // Sandboxes of this instance that have a disk, whoever made them.
  virtual Task<std::vector<SandboxId>> with_disk() = 0;

  // At start: every sandbox of this instance that still lives, connected. Then removes what is
  // neither alive nor in `known` (ids with a row in the store).
  virtual Task<std::vector<std::pair<SandboxId, std::shared_ptr<LiveSandbox>>>> adopt(
      std::vector<SandboxId> known) = 0;

  // Finished commands of a sandbox that is stopped, from its spools.
  virtual Task<std::vector<Command>> stopped_commands(SandboxId id) = 0;
  virtual Task<std::unique_ptr<CommandReader>> stopped_reader(SandboxId id, CommandId command,
                                                              OutputOffsets from) = 0;

  // The program record, from `offset` of an earlier page on (0: from its beginning); of one that
  // runs and of one that is stopped. kInvalidArgument (bad_offset): no record begins there.
  virtual Task<ProgramPage> programs(SandboxId id, std::uint64_t offset, std::uint32_t limit) = 0;

  // What a sandbox that lives, or is being booted, may reach from now on: new connections and names
  // at once, and what is open and would not be let through any more is reset before this returns.
  // Outlives whoever decides. One that was booted without a way out gets none by it. kUnavailable
  // (policy_not_in_force): it is kept, and it is not certain that it is gone by yet.
  virtual Task<void> set_policy(SandboxId id, std::string policy, std::string rules) = 0;

  // What it tried to reach, of any state; nothing yet: no lines.
  virtual Task<NetworkReport> network(SandboxId id) = 0;
  // The log of it, of any state. kOutOfRange (decision_ahead): `after` is a number that was not
  // given yet.
  virtual Task<DecidedPage> decisions(SandboxId id, DecidedQuery query) = 0;

  // Makes or finds the `default` snapshot of this host. `progress` gets sentences.
  virtual Task<SnapshotInfo> prepare_default_snapshot(
      std::function<void(std::string)> progress) = 0;

  // Another one than before means that the host was restarted: what ran then ended with it.
  virtual std::string host_boot_id() const = 0;

  // Calls `on_death` (on the daemon's loop) for every sandbox that ends unasked; at once for those
  // that did since adopt().
  virtual void watch(std::function<void(SandboxDeath)> on_death) = 0;

  virtual Task<std::vector<Feature>> features() = 0;  // for doctor
  virtual RuntimeHealth health() const { return {}; }

  // Returns what it can do, as far as it knows. Does not wait for anybody.
  virtual Capabilities capabilities() const { return {}; }

  // The daemon is about to end. Readers that go from now on go with it and not by their clients'
  // wish: keepers are not told that they went, and give them the time to come back that they give
  // readers of a daemon that was killed.
  virtual void part() {}
};

}  // namespace cay::core
