// Client: Cay from ordinary C++, one blocking call per verb. All handles are cheap to copy, may be
// used from several threads, and keep the connection alive. Everything throws cay::ApiError.
//
//   cay::Client cay;                                    // finds the daemon by CAY_URL, CAY_API_KEY
//   auto box = cay.create();
//   auto got = box.run({"python3", "-c", "print(2+2)"});
//   std::cout << got.out;                               // 4
//   box.remove();
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cay/code.h"
#include "cay/error.h"
#include "cay/types.h"

namespace cay::sdk {

struct ClientState;   // of the implementation
struct CommandState;  // of the implementation
struct ForwardState;  // of the implementation
class SandboxState;   // of the implementation

// A running (or ended) command and a reader of it. A connection that drops is made again at the
// next byte: callers see every byte once, or an ApiError.
class Command {
 public:
  const std::string& id() const;
  // As of the start or the attach.
  const CommandInfo& started() const;

  // The next piece; after End: ApiError kOutOfRange. One thread at a time (the others may call the
  // rest meanwhile).
  Event next();
  // Reads to the end. Without a callback the stream is gathered: of more than `keep` bytes its
  // beginning and its end, with a note between.
  CommandResult wait(const OutputCallbacks& callbacks = {}, std::size_t keep = 16u << 20);

  // Comes back when the command's pipe, or the buffer before it, took the bytes. ApiError kLost,
  // reason "stdin_uncertain": the connection broke meanwhile, so nobody knows whether they arrived.
  void write_stdin(std::string_view bytes);
  void close_stdin();
  // 0: SIGKILL to the whole process tree; others go to the leader's process group.
  void kill(int signal = 0);
  void resize(TerminalSize size);

  explicit Command(std::shared_ptr<CommandState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<CommandState> state_;
};

// Bytes on their way, for files and trees of any size. A source gives "" at its end.
using ByteSink = std::function<void(const std::string& bytes)>;
using ByteProducer = std::function<std::string()>;
struct Progress {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};
using OnProgress = std::function<void(const Progress&)>;

struct CopyOptions {
  std::string user;         // who does the file work inside; empty: root
  bool keep_links = false;  // copy_out: make symbolic links that lead out of the tree, too
  std::uint64_t max_bytes =
      kMostCopied;      // copy_out: of all files together; past it it fails "copy_too_large"
  OnProgress progress;  // called now and then, from the calling thread or the client's own
};
// A name that a copy leaves out. The copy goes on, so a caller looks at `left_out`.
struct Skipped {
  std::string path;  // relative to the tree; the middle of a long one is cut out
  std::string reason;
};
struct CopyReport {
  Progress moved;
  std::uint64_t left_out = 0;    // how many names
  std::vector<Skipped> skipped;  // the first 1000 of them
};

// A local port that leads into a sandbox, until the last handle of it goes. Every connection to it
// wakes the sandbox and keeps it awake; one that comes while the daemon restarts waits for it.
class Forward {
 public:
  std::uint16_t local_port() const;
  std::uint16_t remote_port() const;
  const std::string& address() const;

  explicit Forward(std::shared_ptr<ForwardState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<ForwardState> state_;
};

// Runs commands in a sandbox, and finds those that run.
class SandboxCommands {
 public:
  // Runs to the end. `argv` is a program and its arguments; run_shell takes a line of sh.
  CommandResult run(const std::vector<std::string>& argv, const CommandOptions& options = {},
                    const OutputCallbacks& callbacks = {}) const;
  CommandResult run_shell(const std::string& line, const CommandOptions& options = {},
                          const OutputCallbacks& callbacks = {}) const;
  // Runs a program that is given as text, and waits for its end. ApiError kInvalidArgument
  // "toolchain_missing": the sandbox lacks the language.
  CodeResult run_code(const std::string& code, const CodeOptions& options) const;
  // Starts, with a reader from the first byte.
  Command spawn(const std::vector<std::string>& argv, const CommandOptions& options = {}) const;
  // Starts without a reader. attach() gives one later, from here or elsewhere.
  CommandInfo start_detached(const std::vector<std::string>& argv,
                             const CommandOptions& options = {}) const;
  Command attach(const std::string& command_id, Offsets from = {}) const;
  std::vector<CommandInfo> commands() const;
  CommandInfo command(const std::string& command_id) const;
  void kill(const std::string& command_id, int signal = 0) const;
  void forget(const std::string& command_id) const;

 protected:
  explicit SandboxCommands(std::shared_ptr<SandboxState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<SandboxState> state_;
};

// Reads and writes a sandbox's files. Paths are absolute. `user` empty: root. `mode` 0: 0644 for a
// new file, else as it was.
class SandboxFiles {
 public:
  std::string read_file(const std::string& path, const std::string& user = {}) const;
  void read_file(const std::string& path, const ByteSink& sink, const std::string& user = {}) const;
  FileInfo write_file(const std::string& path, std::string bytes, std::uint32_t mode = 0,
                      const std::string& user = {}) const;
  FileInfo write_file(const std::string& path, ByteProducer producer, std::uint32_t mode = 0,
                      const std::string& user = {}) const;
  FileInfo stat(const std::string& path, const std::string& user = {}) const;
  std::vector<FileInfo> list(const std::string& path, const std::string& user = {}) const;
  void make_directory(const std::string& path, const std::string& user = {}) const;
  void remove_path(const std::string& path, bool recursive = false,
                   const std::string& user = {}) const;
  void rename(const std::string& from, const std::string& to, const std::string& user = {}) const;
  std::vector<FileInfo> glob(const std::string& root, const std::string& pattern) const;
  std::vector<GrepMatch> grep(const std::string& root, const std::string& text,
                              const std::string& glob = {}) const;

  // Copies the contents of a local directory into a directory inside, and back. Back, nothing is
  // written outside `local`, whatever the sandbox sends, and there are no devices and no setuid
  // bits. A file gets its name when it is whole: a failure leaves the files before it.
  CopyReport copy_in(const std::string& local, const std::string& path,
                     const CopyOptions& options = {}) const;
  CopyReport copy_out(const std::string& path, const std::string& local,
                      const CopyOptions& options = {}) const;
  // The same as raw tar streams. The report lists the names that the archive leaves out.
  CopyReport read_tree(const std::string& path, const ByteSink& sink,
                       const std::string& user = {}) const;
  void write_tree(const std::string& path, ByteProducer producer,
                  const std::string& user = {}) const;

 protected:
  explicit SandboxFiles(std::shared_ptr<SandboxState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<SandboxState> state_;
};

// Changes a sandbox's files beyond their content, reads and writes several, and watches
// directories. `user` empty: root.
class SandboxFileChanges {
 public:
  ChangeCount set_mode(const std::string& path, std::uint32_t mode, bool recursive = false,
                       const std::string& user = {}) const;
  // `owner`: USER, USER:GROUP or :GROUP, by name or number.
  ChangeCount set_owner(const std::string& path, const std::string& owner, bool recursive = false,
                        const std::string& user = {}) const;
  // Copies files, and directories with all below them. `exclusive`: fails if `to` exists.
  ChangeCount copy(const std::string& from, const std::string& to, bool exclusive = false,
                   const std::string& user = {}) const;
  // As SandboxFiles::rename, and to other file systems too.
  ChangeCount move(const std::string& from, const std::string& to, bool exclusive = false,
                   const std::string& user = {}) const;
  // Replaces a literal text in the file `path`, or in the files below it that match `glob`.
  ReplaceReport replace(const std::string& path, const std::string& text,
                        const std::string& replacement, const std::string& glob = {},
                        const std::string& user = {}) const;
  // Entries down to `depth` levels.
  std::vector<FileInfo> list_levels(const std::string& path, std::uint32_t depth,
                                    FileFacts facts = {}, const std::string& user = {}) const;
  // Each with its content or its error, in the order of `paths`.
  std::vector<FileContent> read_files(const std::vector<std::string>& paths,
                                      const std::string& user = {}) const;
  // Returns for each file its path, and its error if it was not written.
  std::vector<FileContent> write_files(std::vector<FileToWrite> files,
                                       const std::string& user = {}) const;

  // Watches a directory and those below it. Returns the id of the watch. It ends when nobody has
  // read for `idle_s`, and when the sandbox stops.
  std::string watch(const std::string& path, std::int64_t idle_s = 300,
                    const std::string& user = {}) const;
  // The events after the number `after`. Waits up to `wait_s` for the first.
  FileEvents watch_events(const std::string& id, std::uint64_t after,
                          std::uint32_t wait_s = 0) const;
  void end_watch(const std::string& id) const;

 protected:
  explicit SandboxFileChanges(std::shared_ptr<SandboxState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<SandboxState> state_;
};

// A handle of one sandbox: its id or name, and the way to the daemon.
//
// A handle that is made from a name keeps the id of the first response with one. These verbs have
// one: info, update, start, stop, pause, resume, spawn, run, attach. The handle stands for that
// sandbox from then on, even if another sandbox gets the name. Copies of a handle share the id.
class Sandbox : public SandboxCommands, public SandboxFiles, public SandboxFileChanges {
 public:
  const std::string& ref() const;  // as it was given
  SandboxInfo info() const;
  SandboxInfo update(const UpdateOptions& options) const;
  // Boots a stopped or failed one, and waits until it is ready. ApiError kNotReady: it failed.
  SandboxInfo start(double timeout_s = 60) const;
  SandboxInfo stop() const;   // everything in it ends; the disk stays
  SandboxInfo pause() const;  // its processes keep their memory, get no CPU and do not end
  SandboxInfo resume() const;
  void remove() const;
  Stats stats() const;
  // The programs that ran, if it was created with record_programs, from `offset` of an earlier
  // page on.
  ProgramPage programs(std::uint64_t offset = 0, std::uint32_t limit = 1000) const;
  NetworkReport network() const;  // connections and names that it tried, with the verdicts

  // Makes a snapshot of its disk as it is at this moment. `name`: NAME or NAME:TAG. The memory of
  // its processes is not part of it.
  Snapshot capture(const std::string& name) const;
  // Makes sandboxes with a disk like this one's, all as of one moment. Its processes are not
  // copied.
  std::vector<SandboxInfo> fork(const ForkOptions& options = {}) const;
  // Stops it, drops what its disk changed since its snapshot, and boots it. `to` empty: from the
  // snapshot that it stands on, else from that one.
  SandboxInfo rollback(const std::string& to = {}) const;

  // Compares its disk with the snapshot that it stands on, path by path.
  DiffSummary diff(const OnChange& change) const;

  // Any TCP service inside, reached by a port of this machine. Half-closes and back-pressure pass
  // through. ApiError kAlreadyExists "port_in_use".
  Forward forward(const ForwardOptions& options) const;
  Forward forward(std::uint16_t remote_port, std::uint16_t local_port = 0) const;

  Sandbox(std::shared_ptr<ClientState> client, std::string ref);

 private:
  explicit Sandbox(std::shared_ptr<SandboxState> state);

  std::shared_ptr<SandboxState> state_;
};

using OnBuildLog = std::function<void(const std::string& text)>;

// The files of a local directory for a build, as a tar: their modes, times and symbolic links, and
// no owners.
class BuildContext {
 public:
  // `ignore`: the text of a .dockerignore, which names the files that stay here. ApiError
  // kInvalidArgument "invalid_dockerignore".
  explicit BuildContext(const std::string& directory, const std::string& ignore = {});
  ~BuildContext();
  BuildContext(const BuildContext&) = delete;
  BuildContext& operator=(const BuildContext&) = delete;

  // A ByteProducer of the tar. ApiError: a file cannot be read, or changed meanwhile.
  std::string next();
  // How much was packed so far, and which entries a build cannot have.
  const CopyReport& report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The snapshots that sandboxes can boot from: the host's own, images and captures. `ref`: a name,
// "name:tag" or an id.
class SnapshotStore {
 public:
  std::vector<Snapshot> list() const;  // the default one first
  Snapshot get(const std::string& ref) const;
  // Begins to pull an image from its registry: wait() returns when it can be booted.
  Snapshot pull(const PullOptions& options) const;
  // Reads an OCI archive, a `docker save` archive or a tar of a root file system. `name` empty: the
  // archive's own.
  Snapshot import_archive(ByteProducer archive, const std::string& name = {}) const;
  // Begins to build a Dockerfile. `context`: a tar of the files that COPY reads, plain or
  // compressed, as BuildContext has it. follow_build() returns when the build is over.
  Snapshot build(const BuildOptions& options, ByteProducer context) const;
  // Waits until a build is over, and passes on its log as it grows. ApiError kInvalidArgument
  // "build_failed": a step of the Dockerfile failed. Others: why the build could not go on.
  Snapshot follow_build(const std::string& id, const OnBuildLog& log = {}) const;
  // Waits until a snapshot is ready. ApiError kNotReady "snapshot_failed".
  Snapshot wait(const std::string& id, const SnapshotProgress& progress = {}) const;
  // Moves the tag of that snapshot's name to it: tag("tools:2", "stable") makes tools:stable.
  Snapshot tag(const std::string& ref, const std::string& tag) const;
  // Pushes it to a registry as an image, and waits for the end. ApiError kUnavailable
  // "push_failed".
  PushState push(const std::string& ref, const PushOptions& options,
                 const PushProgress& progress = {}) const;
  void remove(const std::string& ref) const;  // ApiError kConflict: something needs it
  // Writes it as an OCI archive, which import_archive() and other programs read.
  void export_archive(const std::string& ref, const ByteSink& sink) const;
  // Compares the daemon's rows with its disk. For the host's operator.
  StoreReport check(bool repair = false) const;

  explicit SnapshotStore(std::shared_ptr<ClientState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<ClientState> state_;
};

// The directories that sandboxes mount, and that outlive them. `ref`: a name or an id.
class VolumeStore {
 public:
  std::vector<Volume> list() const;
  Volume get(const std::string& ref) const;
  // `disk_bytes`: its limit. 0: the daemon's default. ApiError kAlreadyExists "volume_exists".
  Volume create(const std::string& name, std::uint64_t disk_bytes = 0) const;
  Volume resize(const std::string& ref, std::uint64_t disk_bytes) const;
  void remove(const std::string& ref) const;  // ApiError kConflict: a sandbox has it

  explicit VolumeStore(std::shared_ptr<ClientState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<ClientState> state_;
};

// The sandbox that has a claim. `created`: this call made it.
struct Ensured {
  Sandbox sandbox;
  SandboxInfo info;
  bool created = false;
};

class Client {
 public:
  Client() : Client(ClientOptions::from_environment()) {}
  explicit Client(const ClientOptions& options);

  Sandbox create(const CreateOptions& options = {}) const;
  SandboxInfo create_info(
      const CreateOptions& options) const;  // as create(), with all that is known
  // Returns the sandbox that has `claim` in the key's tenant, and makes it if there is none.
  // Callers at the same time get the same one. `options` count if it is made.
  Ensured ensure(const std::string& claim, const CreateOptions& options = {}) const;
  Sandbox sandbox(std::string id_or_name) const;  // a handle; sends no request
  std::vector<SandboxInfo> list(const ListOptions& options = {}) const;  // all pages
  // Makes a sandbox, runs a program in it and removes it, also when the run fails.
  CodeResult run_code(const std::string& code, const CodeOptions& options,
                      const CreateOptions& sandbox = {}) const;
  SnapshotStore snapshot_store() const;
  VolumeStore volume_store() const;
  std::vector<Snapshot> snapshots() const;  // snapshot_store().list()
  std::vector<Feature> doctor() const;
  Version version() const;
  // Any route of docs/api.md, for what has no method here: the answer's body.
  std::string request(const std::string& method, const std::string& target,
                      const std::string& json = {}) const;

  explicit Client(std::shared_ptr<ClientState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<ClientState> state_;
};

}  // namespace cay::sdk

namespace cay {
using sdk::Client;
}
