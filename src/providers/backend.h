// Backend: one sandbox as a harness uses it, on Cay or on another cloud. A provider implements
// these few verbs; the file tools work over them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.h"
#include "providers/path_rules.h"

namespace cay::providers {

struct ExecuteOptions {
  // Names this execution. A provider with `Features::attach` attaches to a command of the same id
  // instead of running it twice. Empty: a new one.
  std::string id{};
  std::optional<double> timeout_s{};  // absent: the provider's default; 0: none
  std::size_t keep = 4u << 20;        // bytes returned: the first and last halves
  std::string workdir{};              // empty: the provider's default
  // Called with output as it comes, if the provider streams.
  std::function<void(std::string_view bytes)> on_output{};
};

struct Executed {
  std::string output;            // stdout and stderr together
  std::optional<int> exit_code;  // absent: no exit; see `state`
  std::string state;             // exited, timed_out, oom_killed, signalled, killed, lost …
  std::string reason;            // for people, where there was no exit
  bool truncated = false;        // `output` is not all of it
  std::uint64_t total_bytes = 0;
  std::optional<int> signal{};  // state signalled or killed

  // Returns the code as a shell shows it: 124 for a time-out, 128 + signal, 125 for a lost command.
  int shell_exit_code() const;
};

struct FileResult {
  std::string path;  // as requested, byte for byte
  std::optional<std::string> content;
  // Empty: done. Else file_not_found, permission_denied, is_directory, invalid_path, or another.
  std::string error;
};

struct FileEntry {
  std::string path;
  bool is_directory = false;
  std::uint64_t size = 0;
  std::string modified_at;  // RFC 3339; empty: unknown
};

struct Match {
  std::string path;
  std::uint64_t line = 0;  // from 1
  std::string text;        // without its newline
};

template <class T>
struct Found {
  std::vector<T> entries;
  bool truncated = false;  // valid, but not all
};

// Features: the abilities of a provider beyond the four verbs. The harness offers a
// tool only where it can work.
struct Features {
  bool streams = false;      // on_output is called while the command runs
  bool attach = false;       // an execution is found again by its id
  bool background = false;   // Background is implemented
  bool snapshots = false;    // checkpoint() is implemented
  bool code = false;         // run_code() is implemented
  bool hides_paths = false;  // SandboxRequest::paths and path_rules() are implemented
};

// A command that runs on while the harness does other things.
struct Running {
  std::string id;
  std::string state;
  std::optional<int> exit_code;
  std::string output;      // since `from`
  std::uint64_t next = 0;  // offset for the next read
  bool running() const { return state == "running"; }
};

// A page of a text file.
struct FilePage {
  bool binary = false;                          // the file is not UTF-8: the page has no text
  std::string text;                             // lines joined by LF, without the last newline
  std::uint64_t size = 0;                       // of the file, in bytes
  std::uint64_t first_line = 0, last_line = 0;  // from 1; both 0: there is no line
  std::optional<std::uint64_t> total_lines;     // absent: unknown
  bool cut = false;                             // a bound on bytes ended the page
};

// A program that is given as text.
struct CodeRequest {
  std::string language, code;
  std::string input{};  // its stdin
  std::vector<std::string> args{};
  std::vector<std::string> libraries{};  // as the language's own manager names them
  std::optional<double> timeout_s{};
};

struct CodeRun {
  Executed run;                        // of the phase
  std::string phase;                   // run; install or compile: that failed
  std::vector<std::string> artifacts;  // names of the files that it left in $CAY_OUTPUT_DIR
  std::vector<std::string> notes;      // for people
};

// The verbs that every provider implements.
//
// Every method, here and below, may fail kLost (sandbox_lost) when the sandbox is gone. It fails
// kUnavailable when its provider cannot be reached, and kNotReady when it is stopped. A file that
// is missing is no Error of upload() and download() but a FileResult with `error`.
class Shell {
 public:
  virtual ~Shell() = default;
  virtual const std::string& id() const = 0;
  virtual const std::string& provider() const = 0;  // "cay", "langsmith", "daytona", "local"
  virtual Features features() const = 0;
  virtual const std::string& workdir() const = 0;  // absolute

  // Runs a line of sh and waits for its end. A command that failed is a value.
  virtual Task<Executed> execute(std::string command, ExecuteOptions options) = 0;
  // One result for each file, in the order of the request. upload() makes missing parents.
  virtual Task<std::vector<FileResult>> upload(
      std::vector<std::pair<std::string, std::string>> files) = 0;
  virtual Task<std::vector<FileResult>> download(std::vector<std::string> paths) = 0;
};

// File verbs with the rules of the deepagents protocol. This class has them over execute(),
// upload() and download(), with POSIX sh, find and grep alone inside. Paths are absolute.
//
// Errors: kNotFound (file_not_found), kInvalidArgument (not_a_directory, not_a_regular_file,
// invalid_pattern, pattern_too_broad), kPermissionDenied (permission_denied).
class FileVerbs : public Shell {
 public:
  // One level, sorted by path, without trailing slashes. `is_directory` follows no link.
  virtual Task<Found<FileEntry>> list(std::string path);
  virtual Task<FileEntry> stat(std::string path);  // follows links
  // Returns at most `limit` lines behind the first `offset`. CRLF and CR become LF. Fails
  // kOutOfRange (offset_past_end).
  virtual Task<FilePage> read(std::string path, std::uint64_t offset, std::uint64_t limit);
  // Regular files, sorted. `glob_rules.h` has the rules of patterns.
  virtual Task<Found<FileEntry>> glob(std::string pattern, std::string root);
  // Lines that contain the literal `text`, at most `most`, in files that match `glob` (empty: all).
  virtual Task<Found<Match>> grep(std::string text, std::string root, std::string glob,
                                  std::size_t most);
  virtual Task<void> remove(std::string path);  // recursive
};

// One sandbox, or what stands for it.
class Backend : public FileVerbs {
 public:
  // With Features::hides_paths: the rules that hold in this sandbox.
  virtual const PathRules& path_rules() const;

  // With Features::background. `options.id` names it. poll() waits up to `wait_s` for its end, and
  // returns a part of its output from offset `from` on. Fails kNotFound (unknown_command).
  virtual Task<std::string> start(std::string command, ExecuteOptions options);
  virtual Task<Running> poll(std::string id, std::uint64_t from, double wait_s);
  virtual Task<void> write_input(std::string id, std::string bytes, bool close);
  virtual Task<void> kill(std::string id);

  // Ends an execution whose execute() was cancelled: kills it, waits for its end, and returns that
  // end with the output so far. `id` is the one of its ExecuteOptions. One that has ended by
  // itself meanwhile has its own end. Fails kNotFound (unknown_command): it never began.
  virtual Task<Executed> stop(std::string id, std::size_t keep);

  // With Features::snapshots: keeps the disk as it is, and returns a name to restore() from.
  virtual Task<std::string> checkpoint(std::string name);
  virtual Task<void> restore(std::string name);

  // With Features::code. A caller that cancels it ends the program. Fails kInvalidArgument
  // (toolchain_missing, unknown_language).
  virtual Task<CodeRun> run_code(CodeRequest request);
};

// How a thread's sandbox is found or made. Two callers with the same `claim` get the same sandbox.
struct SandboxRequest {
  std::string claim{};     // empty: a new sandbox
  std::string id{};        // use this one, and never remove it
  std::string snapshot{};  // or image; empty: the provider's default
  std::string policy{};    // of the way out; empty: the provider's default
  PathRules paths{};       // of a new sandbox; one that is there has its own (path_rules())
  std::optional<std::int64_t> idle_ttl_s{};
  std::vector<std::pair<std::string, std::string>> labels{};
};

// The error of a provider that has no Features::hides_paths, if the request has paths.
Result<void> refuse_paths(const SandboxRequest& request, std::string_view provider);

class Provider {
 public:
  virtual ~Provider() = default;
  // Fails kNotFound (sandbox_not_found) for an `id` that does not exist, and kUnsupported
  // (permissions_need_mounts) for `paths` without Features::hides_paths.
  virtual Task<std::unique_ptr<Backend>> open(SandboxRequest request) = 0;
  // A sandbox that is gone already is removed.
  virtual Task<void> remove(std::string id) = 0;
  // With Features::snapshots: a second sandbox with the same disk. A second call with the same
  // `claim` returns the same one (empty: another one).
  virtual Task<std::unique_ptr<Backend>> fork(std::string id, std::string claim);
};

// `name`: cay, langsmith, daytona or local. Settings come from the environment, as each vendor's
// own clients read it. Fails kInvalidArgument (unknown_provider).
Result<std::unique_ptr<Provider>> make_provider(asio::any_io_executor executor,
                                                std::string_view name);

}  // namespace cay::providers
