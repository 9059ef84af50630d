// The messages between daemon, keeper and launcher. Tags are for ever: add, never reuse. The byte
// form is in wire/frame.h and wire/tlv.h; docs/wire.md describes the conversation.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/tlv.h"

namespace cay::wire {

inline constexpr std::uint32_t kProtocolMin = 1;  // oldest peer we serve
inline constexpr std::uint32_t kProtocolNow = 1;

enum class Type : std::uint16_t {
  // both ways, both protocols
  kHello = 1,   // first frame each way, channel 0
  kOk = 2,      // ends the channel
  kError = 3,   // ErrorMsg; ends the channel
  kData = 4,    // wire::Data
  kCredit = 5,  // Credit: the receiver of DATA allows so many more payload bytes
  kEof = 6,     // Eof: the sender of DATA is done
  kCancel = 7,  // Empty; the daemon gives the channel up (an attach: detaches); on channel 0: it
                // ends politely
  kProof = 8,   // Proof, after both HELLOs, on channel 0; between daemon and keeper, where a key
                // authenticates them (wire/hello_proof.h)

  // daemon -> keeper, and answers
  kStart = 20,   // StartCommand -> kCommand
  kAttach = 21,  // Attach -> kCommand, then kData / kGap under credit, then kEnd; ends the channel
  kStdin = 22,   // Stdin -> kOk when the bytes were taken
  kCloseStdin = 23,    // CommandRef -> kOk
  kKill = 24,          // Kill -> kOk
  kResize = 25,        // Resize -> kOk
  kGetCommand = 26,    // CommandRef -> kCommand
  kListCommands = 27,  // Empty -> kCommand ..., kEof
  kForget = 28,        // CommandRef -> kOk
  kCommand = 29,       // CommandMsg
  kGap = 30,           // GapMsg
  kEnd = 31,           // CommandMsg: the final one; ends an attach channel

  kFileOp = 40,      // FileOp -> see FileVerb; ends with kOk / kError / kEof
  kFileInfo = 41,    // FileInfoMsg
  kGrepMatch = 42,   // GrepMatchMsg
  kLayerEntry = 43,  // LayerEntryMsg
  kFileDone = 44,    // FileDoneMsg
  kReplaced = 45,    // ReplacedMsg
  kFileEvent = 46,   // FileEventMsg
  kBulk = 47,  // Empty, with a socket beside it that carries the content of a read or write. An
               // upload's daemon sends it to request one

  kStats = 50,       // Empty -> kStatsReply
  kStatsReply = 51,  // StatsMsg
  kShutdown = 52,    // Empty -> kOk; then the keeper kills everything inside and ends
  kPause = 53,       // Empty -> kOk once every command is held still
  kResume = 54,      // Empty -> kOk
  kEnded =
      56,  // keeper -> daemon, channel 0: CommandMsg of a command that ended, without its argv,
           // cwd and user. A hint: left out when the connection has no room. Only to a daemon that
           // takes no notes
  kNote = 57,   // keeper -> daemon, channel 0: NoteMsg. Sent again on every connection until kNoted
  kNoted = 58,  // Noted -> kOk

  // A TCP connection to the sandbox's own loopback. Then, both ways: kData under credit, kEof at
  // each
  // direction's end; kOk when both ended, kError when the connection broke. kCancel resets it.
  kOpenTunnel = 60,  // OpenTunnel -> kTunnelOpen
  kTunnelOpen = 61,  // TunnelOpen

  // daemon -> launcher, and answers
  kCreate = 100,          // CreateSandbox -> kCreated
  kCreated = 101,         // Created
  kStop = 102,            // SandboxRef -> kOk when nothing of it runs; disk and spool stay
  kDestroy = 103,         // SandboxRef -> kOk when no trace is left
  kListSandboxes = 104,   // Empty -> kSandboxEntry ..., kEof
  kSandboxEntry = 105,    // SandboxEntry
  kPrepareDefault = 106,  // PrepareDefault -> kProgress ..., kSnapshot
  kProgress = 107,        // ProgressMsg
  kSnapshot = 108,        // SnapshotMsg
  kProbe = 109,           // Empty -> kFeature ..., kEof
  kFeature = 110,         // FeatureMsg
  kDied = 111,            // launcher -> daemon, channel 0: SandboxEntry that ended unasked
  kRemoveSnapshot = 112,  // SnapshotMsg.id -> kOk; a layer's id too
  kSealLayer = 113,       // SealLayer -> kLayer
  kLayer = 114,           // LayerMsg
  kListLayers = 115,      // Empty -> kLayer ..., kEof
  kMakeVolume = 116,      // VolumeMsg -> kOk
  kRemoveVolume = 117,    // VolumeMsg.volume_id -> kOk
  kListVolumes = 118,     // Empty -> kVolume ..., kEof
  kVolume = 119,          // VolumeMsg
};

struct Empty {
  template <class V>
  void fields(V&) {}
};

struct Hello {
  std::uint32_t min_version = kProtocolMin;
  std::uint32_t max_version = kProtocolNow;
  std::string role;        // "daemon", "keeper", "launcher"; "tunnel": a daemon that wants sockets
                           // (kOpenTunnel), and nothing else
  std::string boot_id;     // of the host, /proc/sys/kernel/random/boot_id
  std::string instance;    // of the data directory
  std::string sandbox_id;  // keeper only
  std::string witness;     // keeper only: "outside" | "inside"
  std::string build;       // program version
  bool passes_sockets =
      false;           // keeper only: serves "tunnel", with a descriptor beside its kTunnelOpen
  bool notes = false;  // keeper: sends kNote; daemon: answers them with kNoted
  std::vector<std::string> features{};  // what the peer can do; a launcher:
                                        // wire/launcher_features.h
  std::string nonce{};                  // random, of this connection alone; where kProof follows
  bool has(std::string_view feature) const {
    return std::find(features.begin(), features.end(), feature) != features.end();
  }
  template <class V>
  void fields(V& v) {
    v(1, min_version);
    v(2, max_version);
    v(3, role);
    v(4, boot_id);
    v(5, instance);
    v(6, sandbox_id);
    v(7, witness);
    v(8, build);
    v(9, passes_sockets);
    v(10, notes);
    v(11, features);
    v(12, nonce);
  }
};

struct Proof {
  std::string mac;  // wire/hello_proof.h
  template <class V>
  void fields(V& v) {
    v(1, mac);
  }
};

struct ErrorMsg {
  std::uint32_t code = 0;  // cay::Code
  std::string reason;
  std::string message;
  std::int64_t os_errno = 0;
  template <class V>
  void fields(V& v) {
    v(1, code);
    v(2, reason);
    v(3, message);
    v(4, os_errno);
  }
};

struct Credit {
  std::uint64_t bytes = 0;
  template <class V>
  void fields(V& v) {
    v(1, bytes);
  }
};

struct Eof {
  bool truncated = false;  // glob, grep: the limit or the deadline was reached
  template <class V>
  void fields(V& v) {
    v(1, truncated);
  }
};

struct CommandRef {
  std::string command_id;
  template <class V>
  void fields(V& v) {
    v(1, command_id);
  }
};

// Most bytes of a kStart; kMaxPayload bounds all else.
inline constexpr std::uint32_t kMaxStartPayload = 2304 * 1024;

struct StartCommand {
  std::string command_id;
  std::string digest;  // of the request, compared on a repeat unless ignore_mismatch
  std::vector<std::string> argv;
  std::vector<std::string>
      env;           // "K=V", complete: the keeper adds nothing but HOME, USER, SHELL if absent
  std::string cwd;   // empty: the user's home, else "/"
  std::string user;  // empty: root
  bool pty = false;
  std::uint16_t rows = 24;
  std::uint16_t cols = 80;
  std::int64_t timeout_ms = 0;
  std::int64_t idle_timeout_ms = -1;
  std::int64_t ttl_ms = -1;
  bool kill_on_disconnect = false;
  bool close_stdin = false;
  bool end_tree = false;
  bool ignore_mismatch = false;
  std::uint64_t spool_limit = 0;  // bytes per stream; 0: the keeper's default
  // CLOCK_MONOTONIC of the host that both run on; 0: none. A keeper that was held up longer starts
  // nothing: the daemon has answered its caller that there was no answer, and the caller may have
  // repeated the request.
  std::int64_t not_after_ms = 0;
  std::uint64_t disk_reserve = 0;  // bytes of the spools' disk that output leaves free
  bool shell_line = false;         // argv is {shell, "-c", line}: a long line is given as a file
  bool reader_follows = false;     // ATTACH comes next: kept for it, however short ttl_ms is
  std::string mark;  // kept with the command and returned with it: a few bytes for the daemon,
                     // which the keeper does not read
  template <class V>
  void fields(V& v) {
    v(1, command_id);
    v(2, digest);
    v(3, argv);
    v(4, env);
    v(5, cwd);
    v(6, user);
    v(7, pty);
    v(8, rows);
    v(9, cols);
    v(10, timeout_ms);
    v(11, idle_timeout_ms);
    v(12, ttl_ms);
    v(13, kill_on_disconnect);
    v(14, close_stdin);
    v(15, end_tree);
    v(16, ignore_mismatch);
    v(17, spool_limit);
    v(18, not_after_ms);
    v(19, disk_reserve);
    v(20, shell_line);
    v(21, reader_follows);
    v(22, mark);
  }
};

// One stream of a command. ring_*: where its spool file holds what (wire/spool_layout.h).
struct ExtentMsg {
  std::uint64_t bytes = 0, end_offset = 0, gap_begin = 0, gap_end = 0, ring_begin = 0,
                ring_size = 0;
  template <class V>
  void fields(V& v) {
    v(1, bytes);
    v(2, end_offset);
    v(3, gap_begin);
    v(4, gap_end);
    v(5, ring_begin);
    v(6, ring_size);
  }
};

// Also the record on disk beside a spool (docs/wire.md, "Spool directory").
struct CommandMsg {
  std::string command_id;
  std::string digest;
  std::vector<std::string> argv;
  std::int64_t pid = 0;
  bool pty = false;
  bool known = false;
  std::int64_t started_at = 0;  // UnixMillis
  std::string cwd;
  std::string user;
  std::int64_t timeout_ms = 0;
  std::uint8_t state = 1;  // cay::CommandState
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  std::string by;
  std::string reason;
  std::uint32_t oom_kills = 0;
  std::uint64_t tmpfs_bytes = 0;
  std::string witness;
  std::int64_t ended_at = 0;
  std::uint64_t cpu_usec = 0;
  std::uint64_t max_rss_bytes = 0;
  ExtentMsg out, err;
  std::int64_t ttl_ms = -1;        // kept so long after its end; -1: with the sandbox
  std::string boot_id;             // of the host when it ran: in the record
  bool argv_truncated = false;     // argv is shortened: a record holds at most 16 KiB of it
  std::int64_t ended_boot_ms = 0;  // its end by CLOCK_BOOTTIME of boot_id's boot; 0: not known
  bool unsettled =
      false;         // it has ended, and its output may still have grown after this record was made
  std::string mark;  // StartCommand's; empty under an older keeper
  template <class V>
  void fields(V& v) {
    v(1, command_id);
    v(2, digest);
    v(3, argv);
    v(4, pid);
    v(5, pty);
    v(6, known);
    v(7, started_at);
    v(8, cwd);
    v(9, user);
    v(10, timeout_ms);
    v(11, state);
    v(12, exit_code);
    v(13, signal);
    v(14, by);
    v(15, reason);
    v(16, oom_kills);
    v(17, tmpfs_bytes);
    v(18, witness);
    v(19, ended_at);
    v(20, cpu_usec);
    v(21, max_rss_bytes);
    v(22, out);
    v(23, err);
    v(24, ttl_ms);
    v(25, boot_id);
    v(26, argv_truncated);
    v(27, ended_boot_ms);
    v(28, unsettled);
    v(29, mark);
  }
};

// A command's start (state running) or end, sent once. The number is the keeper's own, 1, 2, 3 … of
// its life.
struct NoteMsg {
  std::uint64_t life = 0;  // of this keeper: another one begins anew
  std::uint64_t number = 0;
  CommandMsg command;  // without its argv, cwd and user
  template <class V>
  void fields(V& v) {
    v(1, life);
    v(2, number);
    v(3, command);
  }
};

// All notes of that life up to that number are on record: they are not sent again.
struct Noted {
  std::uint64_t life = 0;
  std::uint64_t through = 0;
  template <class V>
  void fields(V& v) {
    v(1, life);
    v(2, through);
  }
};

struct Attach {
  std::string command_id;
  std::uint64_t out_offset = 0;
  std::uint64_t err_offset = 0;
  std::uint64_t credit = 0;  // payload bytes the keeper may send before more kCredit
  template <class V>
  void fields(V& v) {
    v(1, command_id);
    v(2, out_offset);
    v(3, err_offset);
    v(4, credit);
  }
};

struct GapMsg {
  std::uint8_t stream = 1;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  template <class V>
  void fields(V& v) {
    v(1, stream);
    v(2, offset);
    v(3, length);
  }
};

struct Stdin {
  std::string command_id;
  std::string data;   // empty: only `more` counts
  bool more = false;  // there is more behind it, or the end of it; a command whose daemon goes
                      // before that came is lost
  template <class V>
  void fields(V& v) {
    v(1, command_id);
    v(2, data);
    v(3, more);
  }
};

struct Kill {
  std::string command_id;
  std::int64_t signal = 0;  // 0: SIGKILL to the whole tree
  std::string by;
  template <class V>
  void fields(V& v) {
    v(1, command_id);
    v(2, signal);
    v(3, by);
  }
};

struct Resize {
  std::string command_id;
  std::uint16_t rows = 24, cols = 80;
  template <class V>
  void fields(V& v) {
    v(1, command_id);
    v(2, rows);
    v(3, cols);
  }
};

enum class FileVerb : std::uint8_t {
  kStat = 1,    // -> kFileInfo, kOk
  kRead = 2,    // -> kFileInfo, then kData... under credit or kBulk, kEof
  kWrite = 3,   // -> kCredit...; daemon: kData..., or kBulk after some, kEof; -> kFileInfo, kOk
  kList = 4,    // -> kFileInfo..., kEof
  kMkdir = 5,   // -> kOk
  kRemove = 6,  // -> kOk
  kRename = 7,  // -> kOk
  kGlob = 8,    // -> kFileInfo..., kEof
  kGrep = 9,    // -> kGrepMatch..., kEof
  kReadTree =
      10,  // -> (kFileInfo, kData...)... under credit (entries count by their payload), kEof
  kWriteTree = 11,   // -> kCredit...; daemon: (kFileInfo, kData...)..., kEof; -> kOk
  kWriteLayer = 12,  // -> kCredit...; daemon: (kLayerEntry, kData...)..., kEof; -> kOk. Writes to
                     // the root as it lies on the disk
  kReadLayer = 13,   // -> (kLayerEntry, kData...)... under credit, kEof
  // A keeper that knows the verbs from here on lists them in its HELLO (wire/keeper_features.h).
  kChmod = 14,    // -> kFileDone, kOk
  kChown = 15,    // -> kFileDone, kOk
  kCopy = 16,     // -> kFileDone, kOk
  kMove = 17,     // -> kFileDone, kOk
  kReplace = 18,  // -> kReplaced..., kEof
  kWatch = 19,  // -> kOk once it watches; then kFileEvent... under credit, until kCancel or kError
};

struct FileOp {
  std::uint8_t verb = 0;
  std::string path;
  std::string to;                // rename
  std::string user;              // empty: root
  std::string workdir;           // empty: "/"
  std::uint64_t offset = 0;      // read
  std::int64_t length = -1;      // read
  std::uint32_t mode = 0;        // write, mkdir
  bool parents = false;          // write
  bool keep_mode = false;        // write
  bool recursive = false;        // remove
  bool follow = true;            // stat
  std::string pattern;           // glob: pattern; grep: text
  std::string file_glob;         // grep
  std::uint32_t limit = 0;       // glob, grep
  std::uint64_t credit = 0;      // read, read tree
  std::int64_t deadline_ms = 0;  // 0: the keeper's default
  // From here on: feature "file-changes".
  bool exclusive = false;     // write, copy, move: fails if the target exists
  std::uint32_t depth = 0;    // list: levels below the directory; 0: one
  bool with_names = false;    // stat, list: the names of owner and group
  bool with_xattrs = false;   // stat, list
  std::string owner{};        // chown: "USER", "USER:GROUP" or ":GROUP", by name or number
  std::string replacement{};  // replace: in place of `pattern`
  // From here on: feature "one-file".
  bool once = false;      // replace: leaves a file that has the text several times, with an error
  bool one_file = false;  // replace: `path` is a file, through links, with bytes of any kind
  std::uint64_t bulk_from = 0;  // read: so many bytes or more go over a socket of their own
                                // (kBulk); 0: none do. Feature "bulk"
  template <class V>
  void fields(V& v) {
    v(1, verb);
    v(2, path);
    v(3, to);
    v(4, user);
    v(5, workdir);
    v(6, offset);
    v(7, length);
    v(8, mode);
    v(9, parents);
    v(10, keep_mode);
    v(11, recursive);
    v(12, follow);
    v(13, pattern);
    v(14, file_glob);
    v(15, limit);
    v(16, credit);
    v(17, deadline_ms);
    v(18, exclusive);
    v(19, depth);
    v(20, with_names);
    v(21, with_xattrs);
    v(22, owner);
    v(23, replacement);
    v(24, once);
    v(25, one_file);
    v(26, bulk_from);
  }
};

struct XattrMsg {
  std::string name, value;
  template <class V>
  void fields(V& v) {
    v(1, name);
    v(2, value);
  }
};

struct FileInfoMsg {
  std::string path;
  std::uint8_t kind = 1;
  std::uint64_t size = 0;
  std::uint32_t mode = 0, uid = 0, gid = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t inode = 0;
  std::string target;
  std::string owner{}, group{};    // names; empty: with_names is off, or the id has none
  std::vector<XattrMsg> xattrs{};  // empty: with_xattrs is off
  template <class V>
  void fields(V& v) {
    v(1, path);
    v(2, kind);
    v(3, size);
    v(4, mode);
    v(5, uid);
    v(6, gid);
    v(7, mtime_ns);
    v(8, inode);
    v(9, target);
    v(10, owner);
    v(11, group);
    v(12, xattrs);
  }
};

// The end of a change of one path or a tree.
struct FileDoneMsg {
  std::uint64_t entries = 0;   // changed or copied
  std::uint64_t bytes = 0;     // of content, copied
  std::uint64_t left_out = 0;  // copy: neither files, directories nor symbolic links
  bool copied = false;         // move: across file systems, by a copy and a removal
  template <class V>
  void fields(V& v) {
    v(1, entries);
    v(2, bytes);
    v(3, left_out);
    v(4, copied);
  }
};

// One file of a replacement. `reason` empty: it was replaced.
struct ReplacedMsg {
  std::string path;
  std::uint64_t count = 0;
  std::uint32_t code = 0;  // cay::Code
  std::string reason, message;
  template <class V>
  void fields(V& v) {
    v(1, path);
    v(2, count);
    v(3, code);
    v(4, reason);
    v(5, message);
  }
};

// A change below a watched directory. cay::FileEventKind.
struct FileEventMsg {
  std::uint8_t kind = 0;
  std::string path;
  std::string to;  // moved
  bool directory = false;
  template <class V>
  void fields(V& v) {
    v(1, kind);
    v(2, path);
    v(3, to);
    v(4, directory);
  }
};

// core/ports/layers.h, LayerEntry.
struct LayerEntryMsg {
  std::string path;
  std::uint8_t kind = 1;  // core::EntryKind
  std::uint64_t size = 0;
  std::uint32_t mode = 0, uid = 0, gid = 0;
  std::int64_t mtime_ns = 0;
  std::string target{};
  std::vector<XattrMsg> xattrs{};
  template <class V>
  void fields(V& v) {
    v(1, path);
    v(2, kind);
    v(3, size);
    v(4, mode);
    v(5, uid);
    v(6, gid);
    v(7, mtime_ns);
    v(8, target);
    v(9, xattrs);
  }
};

struct GrepMatchMsg {
  std::string path;
  std::uint64_t line = 0;
  std::string text;
  template <class V>
  void fields(V& v) {
    v(1, path);
    v(2, line);
    v(3, text);
  }
};

struct OpenTunnel {
  std::uint32_t port = 0;
  std::uint64_t credit = 0;     // payload bytes the keeper may send before more kCredit
  std::int64_t timeout_ms = 0;  // for the connect; 0: the keeper's default
  template <class V>
  void fields(V& v) {
    v(1, port);
    v(2, credit);
    v(3, timeout_ms);
  }
};

struct TunnelOpen {
  std::uint64_t credit = 0;  // payload bytes the daemon may send before more kCredit
  template <class V>
  void fields(V& v) {
    v(1, credit);
  }
};

struct StatsMsg {
  std::uint64_t cpu_usec = 0, memory_bytes = 0, tmpfs_bytes = 0;
  std::uint32_t pids = 0, oom_kills = 0, running_commands = 0;
  bool paused = false;
  std::int64_t quiet_ms = -1;  // since the last command ended; 0 while one runs; -1: none ever ran
  template <class V>
  void fields(V& v) {
    v(1, cpu_usec);
    v(2, memory_bytes);
    v(3, tmpfs_bytes);
    v(4, pids);
    v(5, oom_kills);
    v(6, running_commands);
    v(7, paused);
    v(8, quiet_ms);
  }
};

// ---- launcher ----

struct TmpfsMount {
  std::string path;         // inside, absolute
  std::uint64_t bytes = 0;  // 0: half of the memory
  template <class V>
  void fields(V& v) {
    v(1, path);
    v(2, bytes);
  }
};

// A directory of the store that a sandbox has at `path`: a volume, or a layer.
struct DiskMountMsg {
  std::string path;
  std::string volume_id{};
  std::string layer_id{};  // always read-only
  bool read_only = false;
  template <class V>
  void fields(V& v) {
    v(1, path);
    v(2, volume_id);
    v(3, layer_id);
    v(4, read_only);
  }
};

struct CreateSandbox {
  std::string sandbox_id;   // a UUID; checked
  std::string hostname;     // 1-63 of [a-z0-9-]; checked
  std::string snapshot_id;  // a UUID: of the top layer that it stands on
  std::uint32_t cpu_millicores = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint32_t pids = 0;
  std::uint64_t spool_bytes =
      0;  // output kept of all its commands together; 0: the keeper's default
  bool record_programs = false;  // wire/program_record.h
  std::string
      policy{};  // lent to the gate with the sandbox's sockets; empty or "off": no way out at all
  std::vector<std::string> networks{};  // special ranges that the operator opens, as "10.1.0.0/16"
  bool network_required = false;  // fail where the host cannot give a way out; else come up without
                                  // one, with the reason
  std::string profile{};  // "default" (and empty), "strict" or "nested": how commands are held
  bool nested_networks =
      false;  // profile nested: containers may have network namespaces of their own
  std::vector<TmpfsMount> tmpfs{};  // parents first
  std::string disk_of{};            // a sandbox whose disk the first boot copies (feature "forks")
  bool fresh_disk = false;          // what is there of a disk is removed first (feature "layers")
  bool builds_layer = false;  // nothing of Cay's is written to its root, and it has no way out
                              // (feature "layers"). snapshot_id may be empty: no layer below
  std::vector<DiskMountMsg> mounts{};  // parents first (feature "mounts")
  // Paths that nothing inside may change, or see (feature "path-rules"). Not in profile nested.
  std::vector<std::string> read_only_paths{}, hidden_paths{};
  bool waits_for_use = false;  // booted ahead: its keeper stays ready for the first command
  template <class V>
  void fields(V& v) {
    v(1, sandbox_id);
    v(2, hostname);
    v(3, snapshot_id);
    v(4, cpu_millicores);
    v(5, memory_bytes);
    v(6, disk_bytes);
    v(7, pids);
    v(8, spool_bytes);
    v(9, record_programs);
    v(10, policy);
    v(11, networks);
    v(12, network_required);
    v(13, profile);
    v(14, nested_networks);
    v(15, tmpfs);
    v(16, disk_of);
    v(17, fresh_disk);
    v(18, builds_layer);
    v(19, mounts);
    v(20, read_only_paths);
    v(21, hidden_paths);
    v(22, waits_for_use);
  }
};

struct SandboxRef {
  std::string sandbox_id;
  template <class V>
  void fields(V& v) {
    v(1, sandbox_id);
  }
};

// The keeper listens on DATA/run/<sandbox id>.sock (mode 0600, owned by the daemon's user).
struct Created {
  std::string sandbox_id;
  std::int64_t keeper_pid = 0;
  std::string disk_enforced_by;  // "btrfs qgroup", "" if nothing enforces it
  bool record_programs = false;  // a launcher of before does not know the wish
  std::string policy{};          // the same
  std::string no_network{};      // why it has no way out, though its policy requires one
  std::string profile{};  // that its commands are held by; empty: a launcher of before, "default"
  // For daemons that read no features in the HELLO: the launcher applies nested_networks, and
  // makes CreateSandbox::tmpfs.
  bool knows_networks = false;
  bool knows_tmpfs = false;
  template <class V>
  void fields(V& v) {
    v(1, sandbox_id);
    v(2, keeper_pid);
    v(3, disk_enforced_by);
    v(4, record_programs);
    v(5, policy);
    v(6, no_network);
    v(7, profile);
    v(8, knows_networks);
    v(9, knows_tmpfs);
  }
};

struct SandboxEntry {
  std::string sandbox_id;
  bool alive = false;
  bool has_disk = false;
  std::int64_t keeper_pid = 0;
  std::string reason;                  // kDied
  std::string policy{}, no_network{};  // while alive, as in Created
  template <class V>
  void fields(V& v) {
    v(1, sandbox_id);
    v(2, alive);
    v(3, has_disk);
    v(4, keeper_pid);
    v(5, reason);
    v(6, policy);
    v(7, no_network);
  }
};

// The settings that the default snapshot is made with, beside the host's own system. Empty: none of
// that kind.
struct PrepareDefault {
  bool host_authorities = false;  // the host's own certificate authorities are trusted inside too
  std::string pip_index, npm_registry, cargo_index, go_proxy,
      apt_archive;  // URLs without credentials
  template <class V>
  void fields(V& v) {
    v(1, host_authorities);
    v(2, pip_index);
    v(3, npm_registry);
    v(4, cargo_index);
    v(5, go_proxy);
    v(6, apt_archive);
  }
};

struct ProgressMsg {
  std::string text;
  template <class V>
  void fields(V& v) {
    v(1, text);
  }
};

struct SnapshotMsg {
  std::string id, name, status, fingerprint;
  std::uint64_t used_bytes = 0;
  std::int64_t created_at = 0;
  template <class V>
  void fields(V& v) {
    v(1, id);
    v(2, name);
    v(3, status);
    v(4, fingerprint);
    v(5, used_bytes);
    v(6, created_at);
  }
};

struct SealLayer {
  std::string sandbox_id;
  std::string layer_id;  // of the new one; a UUID
  template <class V>
  void fields(V& v) {
    v(1, sandbox_id);
    v(2, layer_id);
  }
};

struct LayerMsg {
  std::string layer_id;
  std::vector<std::string> below{};  // the nearest first
  std::uint64_t bytes = 0;           // on the disk, its own
  template <class V>
  void fields(V& v) {
    v(1, layer_id);
    v(2, below);
    v(3, bytes);
  }
};

struct VolumeMsg {
  std::string volume_id;
  std::uint64_t limit_bytes = 0;
  std::uint64_t used_bytes = 0;
  template <class V>
  void fields(V& v) {
    v(1, volume_id);
    v(2, limit_bytes);
    v(3, used_bytes);
  }
};

struct FeatureMsg {
  std::string name;
  bool ok = false;
  std::string found, fallback, remedy;
  template <class V>
  void fields(V& v) {
    v(1, name);
    v(2, ok);
    v(3, found);
    v(4, fallback);
    v(5, remedy);
  }
};

// ---- gate ----

// keeper -> gate, one message on DATA/gate/<sandbox id>.sock, with the sockets of
// wire/guest_network.h: TCP and UDP of IPv4, then the same of IPv6 if there is IPv6. The
// connection's end is the end of the sandbox.
struct Lent {
  std::string sandbox_id;
  std::string policy;
  template <class V>
  void fields(V& v) {
    v(1, sandbox_id);
    v(2, policy);
  }
};

// One line of what a sandbox tried: connections and names of the same kind counted together.
struct DecisionMsg {
  std::string host;        // the name meant; empty: an address without a lookup
  std::string address;     // the last one; empty: the name was not resolved
  std::uint32_t port = 0;  // 0: a lookup of the name alone
  bool allowed = false;
  std::string reason;  // why refused, or why it failed
  std::uint64_t count = 0;
  std::int64_t first_at = 0, last_at = 0;  // UnixMillis
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  std::string rule{};  // that decided last; empty: none matched
  template <class V>
  void fields(V& v) {
    v(1, host);
    v(2, address);
    v(3, port);
    v(4, allowed);
    v(5, reason);
    v(6, count);
    v(7, first_at);
    v(8, last_at);
    v(9, sent_bytes);
    v(10, received_bytes);
    v(11, rule);
  }
};

// DATA/gate/<sandbox id>.net
struct DecisionsMsg {
  std::string policy;
  std::vector<DecisionMsg> items;  // the newest last
  std::uint64_t forgotten = 0;     // lines that made room for newer ones
  std::string rules{};             // of the policy "rules"
  std::uint64_t sent_bytes = 0,
                received_bytes =
                    0;  // since the sandbox was made, by connections that are forgotten, too
  std::uint64_t sent_up_to = 0, received_up_to = 0;  // that may be gone: what was set aside before
                                                     // it is moved (gate/byte_quota.h)
  template <class V>
  void fields(V& v) {
    v(1, policy);
    v(2, items);
    v(3, forgotten);
    v(4, rules);
    v(5, sent_bytes);
    v(6, received_bytes);
    v(7, sent_up_to);
    v(8, received_up_to);
  }
};

// DATA/rules/<sandbox id>: the daemon's policy for a sandbox, if it differs from the lent one or
// has rules of its own. Only the daemon writes it. On DATA/gate/gate.sock the daemon sends a
// sandbox's id when it has changed, and gets a '+' once the gate uses it.
struct SandboxPolicy {
  std::string policy;
  std::string rules;
  template <class V>
  void fields(V& v) {
    v(1, policy);
    v(2, rules);
  }
};
inline constexpr std::size_t kMostSandboxPolicy = 64 * 1024;
inline constexpr char kPolicyTaken = '+';

}  // namespace cay::wire
