// A live sandbox: a connection to its keeper, by role. A caller that needs one role takes that role
// alone. An implementation makes a class for each role; the roles are virtual bases, so that
// LiveSandbox puts them together.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "async/task.h"
#include "core/ports/layers.h"
#include "core/ports/tunnel.h"
#include "model/command.h"
#include "model/event.h"
#include "model/file.h"
#include "model/network.h"

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

// A reader of one command. Destroying it detaches, which counts for idle_timeout and
// kill_on_disconnect. The caller pulls: output stays in the spool until next() takes it.
class CommandReader {
 public:
  virtual ~CommandReader() = default;
  virtual const Command& command() const = 0;  // as of the attach
  virtual Task<OutputEvent> next() = 0;        // one caller at a time; kLost if the keeper is gone
  // Detaches with the next request to this sandbox, and not by a message of its own. For a command
  // that has neither idle_timeout nor kill_on_disconnect. Nothing is read afterwards.
  virtual void detach_with_next() {}
};

struct OutputOffsets {
  std::uint64_t out = 0;
  std::uint64_t err = 0;
};

struct WriteOptions {
  FileAs as;
  std::uint32_t mode = 0644;  // of a new file
  bool create_parents = true;
  bool keep_mode = true;   // an existing file keeps its mode
  bool exclusive = false;  // fails kAlreadyExists (already_exists) if the file exists
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

// A watched directory. Destroying it ends the watch.
class FileWatch {
 public:
  virtual ~FileWatch() = default;
  // Waits for the next event, however long. `seq` is 0. An error is the end of the watch.
  virtual Task<FileEvent> next() = 0;
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

// Runs commands. All calls of these roles may overlap.
class LiveCommands {
 public:
  virtual ~LiveCommands() = default;

  // Get-or-create by spec.id. Fails kConflict (same id, other request, unless ignore_mismatch),
  // kInvalidArgument (reason bad_cwd, bad_user, command_not_found with the errno), kExhausted.
  virtual Task<Command> start(CommandSpec spec) = 0;
  virtual Task<std::unique_ptr<CommandReader>> attach(CommandId id, OutputOffsets from) = 0;
  // A command that runs, and its reader from the first byte. `reader` fails as attach() does.
  struct Followed {
    Command command;
    Result<std::unique_ptr<CommandReader>> reader;
  };
  // start() and attach() as one request, where the runtime can do that.
  virtual Task<Followed> start_attached(CommandSpec spec) {
    const CommandId id = spec.id;
    CAY_CO_TRY(Command command, co_await start(std::move(spec)));
    const OutputOffsets from;
    auto reader = co_await attach(id, from);
    co_return Followed{std::move(command), std::move(reader)};
  }
  // Completes when the keeper took the bytes (it buffers at most 1 MiB). kNotReady: stdin closed.
  // `more`: more input follows. A keeper that loses this connection before that comes ends the
  // command as lost: the program would take a part for the whole. `data` may be empty: then only
  // `more` counts.
  virtual Task<void> write_stdin(CommandId id, Bytes data, bool more) = 0;
  // write_stdin() of a whole input and attach() as one request, where the runtime can do that. It
  // fails as attach() does: if the connection was lost, the input may have been written.
  struct Written {
    Result<void> written;
    std::unique_ptr<CommandReader> reader;
  };
  virtual Task<Written> write_attached(CommandId id, Bytes data, OutputOffsets from) {
    CAY_CO_TRY(auto reader, co_await attach(id, from));
    auto written = co_await write_stdin(std::move(id), std::move(data), false);
    co_return Written{std::move(written), std::move(reader)};
  }
  virtual Task<void> close_stdin(CommandId id) = 0;
  // signal 0: SIGKILL to the whole tree (state kKilled by `by`). Others go to the leader's group.
  virtual Task<void> kill(CommandId id, int signal, std::string by) = 0;
  virtual Task<void> resize(CommandId id, PtySize size) = 0;
  virtual Task<Command> command(CommandId id) = 0;
  virtual Task<std::vector<Command>> commands() = 0;
  virtual Task<void> forget(CommandId id) = 0;  // of a finished command: removes its spool
  // Called on the daemon's loop; argv, cwd and user are left out.
  struct CommandHandlers {
    // A command ended. This is a hint that may be lost: commands() has the truth.
    std::function<void(const Command&)> ended;
    // A command started (it is running) or ended. Comes before start() returns, in the order of
    // numbers. It is repeated on each connection, also a later daemon's, until it is noted().
    std::function<void(NoteMark, const Command&)> note;
  };
  virtual void on_commands(CommandHandlers /*handlers*/) {}
  // Whether all starts and ends come as notes, and none as a hint. Known once anything was
  // answered.
  virtual bool keeps_notes() const { return false; }
  // All notes up to this one are on record.
  virtual Task<void> noted(NoteMark /*through*/) { co_return Result<void>(); }
};

// Reads and changes files, each call as the user of its FileAs.
class LiveFiles {
 public:
  virtual ~LiveFiles() = default;

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
};

// Changes of files beyond their content, each as the user of its FileAs, and watches. Fails
// kUnsupported (keeper_too_old) in a sandbox that an earlier daemon started.
class LiveFileChanges {
 public:
  virtual ~LiveFileChanges() = default;

  // A `path` that is a symbolic link is followed. Links in a tree are not.
  virtual Task<ChangeCount> set_mode(std::string path, FileAs as, TreeMode mode) = 0;
  virtual Task<ChangeCount> set_owner(std::string path, FileAs as, TreeOwner owner) = 0;
  // Links are copied as links. A new directory appears whole or not at all. One that exists gets
  // the entries beside its own.
  virtual Task<ChangeCount> copy(CopyRequest request, FileAs as) = 0;
  // As rename(), and across file systems by a copy and a removal.
  virtual Task<ChangeCount> move(CopyRequest request, FileAs as) = 0;
  // Replaces a literal text. Each file is replaced whole, or has an error in the result.
  virtual Task<ReplaceResult> replace(ReplaceRequest request, FileAs as) = 0;
  virtual Task<FileInfo> describe(std::string path, FileAs as, bool follow, FileFacts facts) = 0;
  virtual Task<std::vector<FileInfo>> list_levels(std::string path, FileAs as,
                                                  ListOptions options) = 0;
  // Returns once the directory is watched. Fails kExhausted (watch_limit, too_many_watches).
  virtual Task<std::unique_ptr<FileWatch>> watch(std::string path, FileAs as, bool recursive) = 0;
};

// Reads and writes whole layers, with owners, extended attributes and hard links.
class LiveLayers {
 public:
  virtual ~LiveLayers() = default;

  // Applies a layer's entries to the root as it lies on the disk, below /dev, /proc, /tmp and all
  // other mounts. Links in paths are resolved within that root. Fails kInvalidArgument (bad_layer)
  // for an entry that it cannot apply: a device, an owner beyond 65535, a path out of the root.
  // The message names the entry.
  virtual Task<void> write_layer(std::unique_ptr<LayerSource> /*entries*/) {
    co_return Error{Code::kUnsupported, "no_layers", "this runtime has no layers", 0};
  }
  // Returns the content of the directory `path` as a layer, or the file `path` as an entry with an
  // empty path. A whiteout becomes kGone, so a DiskMount of a layer gives that layer's own entries.
  virtual Task<std::unique_ptr<LayerSource>> read_layer(std::string /*path*/) {
    co_return Error{Code::kUnsupported, "no_layers", "this runtime has no layers", 0};
  }
};

// Connects to what listens inside.
class LiveTunnels {
 public:
  virtual ~LiveTunnels() = default;

  // Connects to 127.0.0.1:port inside, else to [::1]:port. Fails kNotReady (connect_refused)
  // nothing listens there; kDeadlineExceeded (connect_timed_out); kExhausted (too_many_tunnels).
  virtual Task<std::unique_ptr<Tunnel>> open_tunnel(std::uint16_t port) = 0;
};

// Measures and holds the sandbox as a whole.
class LiveState {
 public:
  virtual ~LiveState() = default;

  virtual Task<SandboxStats> stats() = 0;

  // Holds every command still, with its memory, until resume(): no CPU, and its timers stand still.
  // Output that was written can be read, and file work goes on; start() fails kNotReady
  // (sandbox_paused). Both are idempotent. kUnsupported (pause_unsupported) without cgroups;
  // kDeadlineExceeded (pause_timeout): it runs on.
  virtual Task<void> pause() = 0;
  virtual Task<void> resume() = 0;
};

class LiveSandbox : public virtual LiveCommands,
                    public virtual LiveFiles,
                    public virtual LiveFileChanges,
                    public virtual LiveLayers,
                    public virtual LiveTunnels,
                    public virtual LiveState {
 public:
  // The way out that its start gave it. Absent: whoever started it knew of none, or nobody knows.
  virtual std::optional<SandboxNetwork> network() const { return std::nullopt; }
  // Returns whether it is known at this moment that nobody serves it. Its death may be reported
  // later. False is no promise. Does not wait.
  virtual bool has_hung_up() const { return false; }
};

}  // namespace cay::core
