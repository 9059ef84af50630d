// The values that the SDK takes and gives. Plain structs; absent members mean "the daemon's
// default".
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cay::sdk {

// The most bytes that a copy takes by default. A sandbox's sparse file may be larger than any disk:
// its holes count here, and go over the wire as zeros.
inline constexpr std::uint64_t kMostCopied = std::uint64_t{64} << 30;

using Labels = std::map<std::string, std::string>;
using Env = std::map<std::string, std::string>;

// Zero: the default.
struct Limits {
  std::uint32_t cpu_millicores = 0;  // 1000 is one CPU
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint32_t pids = 0;
};

// A volume in a sandbox. One sandbox at a time runs with a volume to write in. Those with `shared`
// write side by side, and any number reads.
struct VolumeMount {
  std::string volume{};  // name or id
  std::string path{};    // inside, absolute
  bool read_only = false;
  bool shared = false;  // not with read_only
  bool operator==(const VolumeMount&) const = default;
};

struct CreateOptions {
  std::string name;      // empty: made by Cay
  std::string snapshot;  // empty: "default"
  Labels labels;
  Limits limits;
  std::string user;     // of commands that name none; empty: root
  std::string workdir;  // absolute
  Env env;
  std::string policy;
  std::optional<std::int64_t> idle_ttl_s;           // stopped after so long without use; 0: never
  std::optional<std::int64_t> delete_after_stop_s;  // 0: never
  std::optional<std::int64_t> lifetime_s;           // deleted so long after its creation; 0: never
  std::optional<bool> commands_keep_awake;          // what runs is use, though nobody reads it
  bool record_programs = false;  // keep a record of every process: Sandbox::programs()
  std::string
      profile;  // strict, default or nested: how commands are held; empty: the daemon's default
  std::string proxy;  // a JSON list of proxy rules (docs/api.md); empty: none
  std::map<std::string, std::uint64_t>
      tmpfs;  // in memory: a directory, bytes (0: half of the memory)
  std::vector<VolumeMount> volumes{};
  std::vector<std::string> read_only_paths{};  // nothing inside may change what is there
  std::vector<std::string> hidden_paths{};     // nothing inside may see what is there
  bool wait = true;                            // come back when it is ready
  double timeout_s = 30;                       // with wait: fail, and leave nothing
};

struct SandboxInfo {
  std::string id;
  std::string name;
  std::string state;   // provisioning, ready, stopped, failed, deleting, paused
  std::string reason;  // why it failed
  std::string snapshot;
  Labels labels;
  Limits limits;
  std::string user, workdir;
  Env env;
  std::string policy;          // a policy's name; "rules": rules of its own, which `json` has
  std::string network;         // the way out as of the last start: off, on, unavailable
  std::string network_reason;  // why it is unavailable
  std::int64_t idle_ttl_s = 0;
  std::int64_t delete_after_stop_s = 0;
  std::int64_t lifetime_s = 0;
  bool commands_keep_awake = false;
  bool record_programs = false;
  std::string profile;
  std::map<std::string, std::uint64_t> tmpfs;
  std::vector<VolumeMount> volumes{};
  std::vector<std::string> read_only_paths{}, hidden_paths{};
  std::string created_at, updated_at, last_active_at, stopped_at;  // RFC 3339; empty: never
  std::string created_by;
  std::string claim{};  // as ensure() has it; empty: none
  std::string json;     // the answer as it came
};

struct UpdateOptions {
  std::optional<std::string> name;
  std::optional<Labels> labels;  // replaces all
  std::optional<std::int64_t> idle_ttl_s;
  std::optional<std::int64_t> delete_after_stop_s;
  std::optional<std::int64_t> lifetime_s;
  std::optional<bool> commands_keep_awake;
  // Each replaces all. The sandbox must be stopped.
  std::optional<std::vector<std::string>> read_only_paths{}, hidden_paths{};
  std::optional<std::string>
      policy;  // a name, or rules in words; at once, unless it was started without a way out
  std::optional<Limits> limits;  // from the next start; zeros stay as they are
};

struct ListOptions {
  std::vector<std::string> labels;  // "key" or "key=value"; all must match
  std::string state;                // empty: every
  std::string name_contains;
  std::string claim{};  // the one that has it; empty: every
};

struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t cols = 80;
};

struct CommandOptions {
  std::string id;  // empty: a new one. The same id with the same request attaches.
  Env env;
  std::string cwd;
  std::string user;
  std::optional<TerminalSize> terminal;  // output is then all stdout
  std::optional<double> timeout_s;       // 0: none; absent: the daemon's default (60)
  std::optional<double> idle_timeout_s;  // killed after so long without a reader; -1: never
  std::optional<double> ttl_s;           // how long the ended command is kept; -1: with the sandbox
  std::uint64_t output_limit_bytes =
      0;  // kept of each stream: its first and last halves; 0: the default
  bool kill_on_disconnect = false;
  bool close_stdin = true;  // stdin is at its end from the start
  bool end_tree = false;    // kill what the leader leaves behind
  // How long the start itself waits for the end. A command that ends meanwhile takes one request,
  // and its output comes with the answer. Another one is read as it runs. 0: it is read at once.
  // Absent: 0.05 where the caller wants its end (run, run_shell), else 0.
  std::optional<double> wait_s{};
};

enum class Stream { kStdout = 1, kStderr = 2 };

struct StreamExtent {
  std::uint64_t bytes = 0;                   // written by the command so far
  std::uint64_t end_offset = 0;              // at the leader's end
  std::uint64_t gap_begin = 0, gap_end = 0;  // dropped: the spool was full
};

struct CommandInfo {
  std::string id;
  std::vector<std::string> argv;
  bool argv_truncated = false;  // `argv` is shortened: 4 KiB of an argument, 16 KiB in all
  std::string
      state;  // running, exited, signalled, timed_out, idle_killed, oom_killed, killed, lost
  std::optional<int> exit_code;  // state exited only
  std::optional<int> signal;
  std::string by, reason;
  std::uint32_t oom_kills = 0;  // processes of it that the kernel killed for memory, in any state
  std::uint64_t tmpfs_bytes = 0;
  std::int64_t pid = 0;
  bool pty = false;
  std::string started_at, ended_at, cwd, user;
  StreamExtent out, err;
  std::string json;  // the answer as it came

  bool running() const { return state == "running"; }
  // Returns the code as a shell shows it: the program's own, 128+signal, 124 for a time-out, 125
  // for a command that is lost or has not ended.
  int shell_exit_code() const;
};

// Bytes that a result leaves out of the middle of a stream. A note stands in their place.
struct ResultGap {
  std::uint64_t offset = 0, length = 0;  // of what is left out, in the stream
  std::uint64_t at = 0, note_bytes = 0;  // of the note, in `out` or `err`
};

// How a command ended, with its output.
struct CommandResult {
  CommandInfo command;
  std::string sandbox;
  // Exact bytes: all, or the beginning and the end with a note between. A callback leaves none.
  std::string out, err;
  std::optional<ResultGap> out_gap, err_gap;
  bool truncated = false;  // `out` or `err` is not all of it
  bool ok() const { return command.exit_code == 0; }
};

// One piece of a command's life, in order within each stream.
struct Output {
  Stream stream = Stream::kStdout;
  std::uint64_t offset = 0;  // of the first byte, in the stream
  std::string bytes;
  bool after_end = false;  // written by children that outlived the leader
};
struct Gap {  // bytes that were dropped inside, because the spool was full
  Stream stream = Stream::kStdout;
  std::uint64_t offset = 0, length = 0;
};
struct End {
  CommandInfo command;
};
using Event = std::variant<Output, Gap, End>;

struct Offsets {
  std::uint64_t out = 0, err = 0;
};

struct OutputCallbacks {
  std::function<void(const std::string& bytes)> on_stdout;
  std::function<void(const std::string& bytes)> on_stderr;
  // Called where output was not kept: the next bytes of the stream do not follow its last ones.
  std::function<void(const Gap& gap)> on_gap = {};
};

struct FileInfo {
  std::string path;
  std::string kind;  // file, directory, symlink, other
  std::uint64_t size = 0;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0, gid = 0;
  std::string mtime, etag, target;
  std::string owner{}, group{};  // if FileFacts requests them; empty: the id has no name
  std::map<std::string, std::string> xattrs{};  // if FileFacts requests them
  bool is_directory() const { return kind == "directory"; }
};

struct FileFacts {
  bool names = false;   // of owner and group
  bool xattrs = false;  // extended attributes that the user may read
};

// The extent of a change of one path or a tree.
struct ChangeCount {
  std::uint64_t entries = 0, bytes = 0;
  std::uint64_t left_out = 0;  // copy: FIFOs, sockets and devices
  bool copied = false;         // move: across file systems, by a copy and a removal
};

struct ReplacedFile {
  std::string path;
  std::uint64_t count = 0;
  std::string error{};  // why it is as it was; empty: it was replaced
};

struct ReplaceReport {
  std::vector<ReplacedFile> files{};
  bool truncated = false;  // at the limit, or after 30 s
};

// One file of several.
struct FileContent {
  std::string path, bytes{};
  std::string reason{}, error{};  // why it has no content; empty: it has
  bool ok() const { return reason.empty(); }
};

struct FileToWrite {
  std::string path, bytes;
  std::uint32_t mode = 0;  // 0: 0644 for a new file, else as it was
  bool exclusive = false;  // an error if it exists
};

// A change below a watched directory.
struct FileEvent {
  std::uint64_t seq = 0;
  std::string kind{};  // created, modified, attributes, deleted, moved; gap: changes are missing
  std::string path{}, to{};
  bool directory = false;
};

struct FileEvents {
  std::vector<FileEvent> items{};
  std::uint64_t next_after = 0;  // `after` of the next request
  std::string ended{};           // why no event comes any more; empty: it goes on
};

struct GrepMatch {
  std::string path;
  std::uint64_t line = 0;
  std::string text;
};

struct Stats {
  std::uint64_t cpu_usec = 0, memory_bytes = 0, tmpfs_bytes = 0;
  std::uint32_t pids = 0, oom_kills = 0, running_commands = 0;
  bool paused = false;
};

// One line of a sandbox's program record, as the kernel saw it.
struct ProgramEvent {
  std::uint64_t offset = 0;
  std::string kind;     // start, exec, end, life, lost, full
  std::string at;       // RFC 3339
  std::string process;  // the same for all lines of one process, and no other's
  std::uint32_t pid = 0, parent = 0, uid = 0;  // inside; parent 0: Cay itself
  std::string path;                            // exec
  std::vector<std::string> args;               // exec
  std::optional<int> exit_code;                // end
  std::optional<int> signal;                   // end
  bool oom_killed = false;
  std::uint64_t lost = 0;  // lost: so many lines are missing here
  std::string json;        // the line as it came
};

struct ProgramPage {
  std::vector<ProgramEvent> items;
  std::uint64_t next_offset = 0;  // the offset of the next page
};

// One kind of connection or lookup that a sandbox tried, with its verdict and counts.
struct NetworkDecision {
  std::string host, address;
  std::uint16_t port = 0;  // 0: a lookup of the name
  bool allowed = false;
  std::string reason, remedy;  // why it was refused or failed; what would allow it
  std::string rule;            // that decided; empty: none matched
  std::uint64_t count = 0;
  std::string first_at, last_at;
  std::uint64_t sent_bytes = 0, received_bytes = 0;
};

struct NetworkReport {
  std::string policy;          // as SandboxInfo has it
  std::string running_policy;  // that the gate goes by now; empty: it does not run, or is unknown
  bool policy_allowed = true;  // by the operator; else nothing is reached by it
  bool gate_serves = true;     // else nothing gets out until it is back
  std::string network, network_reason;  // as SandboxInfo has them
  std::vector<NetworkDecision> items;   // the latest last
  std::uint64_t forgotten = 0;
  std::uint64_t sent_bytes = 0,
                received_bytes = 0;  // since the sandbox was made, by what is forgotten, too
  std::string json;                  // as it came
};

// How programs run on a snapshot, if nothing else is named: the configuration of its image.
struct ImageConfig {
  std::string user{}, workdir{};
  Env env{};
  std::vector<std::string> entrypoint{}, command{};
  Labels labels{};
  std::vector<std::string> ports{};  // "8080/tcp"
  // Returns the program that the image starts, with its arguments. Empty: it has none.
  std::vector<std::string> argv() const;
};

struct Snapshot {
  std::string id{}, name{}, status{};  // building, ready, failed, deleting
  std::string fingerprint{}, created_at{};
  std::uint64_t used_bytes = 0;   // of all its layers
  std::uint64_t own_bytes = 0;    // of the layers that no other snapshot has
  std::string origin{};           // host, image, archive, capture or build
  std::string image{}, digest{};  // of an image: its name as it was pulled, and its manifest's
  std::string status_message{};   // how far it is, or why it failed
  std::string source_sandbox{};   // of a capture: the id
  std::vector<std::string> tags{};
  ImageConfig config{};
  std::string json{};  // the answer as it came
};

// For a registry. Empty: none.
struct RegistryLogin {
  std::string username{}, password{};
  std::string identity_token{};  // instead: of `docker login`
  bool empty() const { return username.empty() && password.empty() && identity_token.empty(); }
};

struct PullOptions {
  std::string image{};     // "python:3.12", "localhost:5000/x@sha256:..."
  std::string name{};      // of the snapshot, NAME or NAME:TAG; empty: the image's
  std::string platform{};  // "linux/amd64"; empty: the host's
  RegistryLogin login{};
};

// A Dockerfile that is to become a snapshot.
struct BuildOptions {
  std::string dockerfile{};  // its text
  std::string name{};        // of the snapshot, NAME or NAME:TAG; needed
  std::string target{};      // a stage by name or number; empty: the last one
  std::map<std::string, std::string> arguments{};
  // RUN --mount=type=secret: values by id. No layer and no log has them.
  std::map<std::string, std::string> secrets{};
  std::string policy{};  // what RUN may reach; empty: the daemon's default
  bool no_cache = false;
  bool pull = false;                              // fetch base images again
  std::map<std::string, RegistryLogin> logins{};  // for base images, by registry host
  std::string platform{};                         // empty: the host's
};

// A part of a build's log.
struct BuildLog {
  std::string snapshot_id{};
  std::string state{};              // Snapshot::status
  std::uint64_t from = 0, end = 0;  // offsets of the log: of `text`, and after it
  std::string text{};               // empty, and `state` is not building: the end
  std::string message{}, reason{};  // why it failed
};

struct ForkOptions {
  std::vector<std::string> names{};  // of each fork; empty: `count` forks with names made by Cay
  std::uint32_t count = 1;
  Labels labels{};  // above those of the sandbox
};

struct PushOptions {
  std::string image{};  // "registry.example.com/team/x:1"
  RegistryLogin login{};
};

struct PushState {
  std::string image{};
  std::string state{};    // pushing, pushed or failed
  std::string message{};  // how far it is, or why it failed
  std::string digest{};   // of the manifest, once it is pushed
  std::string json{};     // the answer as it came
};

// Called with a snapshot that is being built: its status_message reports how far it is.
using SnapshotProgress = std::function<void(const Snapshot&)>;
using PushProgress = std::function<void(const PushState&)>;

// One side of a DiskChange.
struct ChangedFile {
  std::string kind{};  // file, directory, symlink or other
  std::uint64_t size = 0;
  std::string mode{};  // "0755"
  std::uint32_t uid = 0, gid = 0;
  std::string target{};  // of a symlink
};

// How a path of a sandbox's disk differs from the snapshot that it stands on.
struct DiskChange {
  std::string change{};  // added, changed or deleted
  std::string path{};
  std::optional<ChangedFile> before{}, after{};
  std::string json{};  // the line as it came
};
using OnChange = std::function<void(const DiskChange&)>;

struct DiffSummary {
  std::uint64_t added = 0, changed = 0, deleted = 0;
};

// Something in the store of snapshots that is not as it should be.
struct StoreFinding {
  std::string kind{}, subject{}, meaning{}, remedy{};
  bool can_repair = false, repaired = false;
};

struct StoreReport {
  bool clean = false;  // nothing is wrong, or all was repaired
  std::vector<StoreFinding> findings{};
  std::string json{};  // the answer as it came
};

// A directory that sandboxes mount, and that outlives them.
struct Volume {
  std::string id{}, name{};
  std::uint64_t disk_bytes = 0;  // its limit
  std::uint64_t used_bytes = 0;
  std::vector<std::string> sandboxes{};  // the ids of those that mount it, the stopped ones too
  bool disk_lost = false;                // its directory is gone: it can only be removed
  std::string created_at{}, created_by{};
  std::string json{};  // the answer as it came
};

struct Feature {
  std::string name;
  bool ok = false;
  std::string found, fallback, remedy;
};

struct Version {
  std::string name, version, api;
};

// A local port that leads to a port inside a sandbox.
struct ForwardOptions {
  std::uint16_t remote_port = 0;      // inside, on its own loopback
  std::uint16_t local_port = 0;       // here; 0: any free one
  std::string address = "127.0.0.1";  // here: other addresses let other machines in, without a key
  // Why a connection could not be served or was broken, from the client's own thread.
  std::function<void(const std::string& sentence)> on_problem;
};

// The daemon's URL and the caller's key. from_environment() takes them from CAY_URL (default
// http://127.0.0.1:8787) and CAY_API_KEY. Without a key it reads the key file of the data
// directory: $CAY_DATA, else /var/lib/cay for root and ~/.local/share/cay for others.
struct ClientOptions {
  std::string url = "http://127.0.0.1:8787";
  std::string api_key;
  std::string ca_file;      // for https: trust the authorities in this PEM file alone (CAY_CA_FILE)
  std::string key_problem;  // why there is no key, for the error of a call that needs one
  std::string traceparent;  // W3C trace context that each request is part of (TRACEPARENT); what is
                            // none is left out
  double connect_timeout_s = 5;
  double reconnect_for_s = 60;  // how long a broken stream is tried again without progress
  static ClientOptions from_environment();
};

}  // namespace cay::sdk
