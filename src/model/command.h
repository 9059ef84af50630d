// Command: one process tree in a sandbox, and the one true way it ended (docs/decisions/0027).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/sandbox.h"

namespace cay {

struct PtySize {
  std::uint16_t rows = 24;
  std::uint16_t cols = 80;
  bool operator==(const PtySize&) const = default;
};

// Linux's bounds for a program's arguments (execve(2)). One argument or variable with its NUL is at
// most 128 KiB (MAX_ARG_STRLEN). All of them with their pointers are at most a quarter of the stack
// limit, which is 8 MiB in a sandbox, less the program's name and Cay's own variables. This is the
// one limit: a command below it runs.
inline constexpr std::size_t kMaxArgumentBytes = 128 * 1024 - 1;
inline constexpr std::size_t kMaxCommandBytes = 2'000'000;

struct CommandSpec {
  CommandId id;                   // empty: made by Cay
  std::vector<std::string> argv;  // argv[0] is looked up in the command's PATH unless it has a '/'
  bool shell_line =
      false;      // argv is {shell, "-c", line}: a line longer than an argument is given as a file
  RunConfig run;  // the command's own layer
  std::optional<PtySize> pty;         // output is then all stdout
  std::int64_t timeout_ms = 0;        // from the start; 0: none
  std::int64_t idle_timeout_ms = -1;  // kill after so long without a reader; -1: never
  std::int64_t ttl_ms = 600'000;  // keep the finished command and its output; -1: with the sandbox
  std::uint64_t output_limit_bytes =
      0;  // kept of each stream, its first and last halves; 0: the default
  bool kill_on_disconnect = false;  // kill when the last reader goes
  bool close_stdin = false;         // stdin is at end of file from the start
  bool end_tree = false;            // kill what is left of the tree when the leader ends
  std::string traceparent;  // given to it as TRACEPARENT, unless its environment has one; no part
                            // of what a repeat is compared by
  bool ignore_mismatch = false;  // known id with another request: attach instead of kConflict
  std::string mark;   // a few bytes that Command::mark returns, also after a restart; not part of
                      // the comparison of repeats; one line. Empty under a keeper of 0.1
  std::string trace;  // set by the core: its span at its end is made from it; Command::trace
                      // returns it, as mark
  bool reader_follows =
      false;  // set by the core: its end is kept for the reader that comes next, also with ttl 0
};

enum class CommandState : std::uint8_t {
  kRunning = 1,
  kExited = 2,      // code
  kSignalled = 3,   // signal, sent by nobody of ours
  kTimedOut = 4,    // our timeout killed it
  kIdleKilled = 5,  // our idle timeout (no reader) killed it
  kOomKilled = 6,   // the leader died of SIGKILL, which the kernel's memory killer sent it
  kKilled = 7,      // by request; `by` names the caller
  kLost = 8,        // infrastructure failure: `reason`
};
std::string_view to_string(CommandState state);

// Returns the bytes that kMaxCommandBytes bounds: arguments and environment, each with its NUL and
// its pointer.
std::size_t command_bytes(const CommandSpec& spec);

struct CommandEnd {
  CommandState state = CommandState::kRunning;
  int exit_code = 0;            // kExited only
  int signal = 0;               // kSignalled, kTimedOut, kIdleKilled, kOomKilled, kKilled
  std::string by;               // kKilled: "client", "sandbox stop", ...
  std::string reason;           // kLost
  std::uint32_t oom_kills = 0;  // processes of this command the kernel killed for memory, any state
  std::uint64_t tmpfs_bytes = 0;    // memory held by files in tmpfs when it ended, if oom_kills > 0
  std::string witness = "outside";  // where the keeper stood, outside of the sandbox
  UnixMillis ended_at = 0;
  std::uint64_t cpu_usec = 0;  // user + system time of the leader and the children it waited for
  std::uint64_t max_rss_bytes = 0;
};

// Returns the code that a shell would show: the exit code, 128+signal, 124 for timed out, 125 for
// lost.
int shell_exit_code(const CommandEnd& end);

struct StreamExtent {
  std::uint64_t bytes = 0;       // written by the command so far
  std::uint64_t end_offset = 0;  // offset at the leader's end (later bytes came from children left)
  std::uint64_t gap_begin = 0;   // bytes [gap_begin, gap_end) were dropped: the spool was full
  std::uint64_t gap_end = 0;
};

struct Command {
  CommandId id;
  std::vector<std::string> argv;  // as requested, long ones shortened: then argv_truncated
  bool argv_truncated = false;
  std::int64_t pid = 0;  // as seen inside
  bool pty = false;
  bool known = false;  // start() found it already there
  UnixMillis started_at = 0;
  std::string cwd;
  std::string user;
  std::int64_t timeout_ms = 0;
  std::string mark;   // CommandSpec's, of the request that started it
  std::string trace;  // likewise; as the keeper has it
  CommandEnd end;     // state kRunning while it runs
  StreamExtent out;
  StreamExtent err;
};

enum class Stream : std::uint8_t { kStdout = 1, kStderr = 2 };

}  // namespace cay
