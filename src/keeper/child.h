// The two processes of a start: the entering child E (forked by the keeper, outside), which joins
// cgroups and namespaces, and C, made by E with CLONE_PARENT inside, which becomes the program or
// does a file task. All they need is prepared before the fork; what fails is reported as {step,
// errno} on a pipe. Async-signal-safe up to exec.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "keeper/confine.h"
#include "keeper/terminal.h"

namespace cay::keeper {

// The message of the status pipe: one write each (smaller than PIPE_BUF).
struct StartReport {
  enum Kind : std::uint32_t { kReady = 1, kFailed = 2 };
  std::uint32_t kind = 0;
  std::int32_t err = 0;
  std::int32_t guest_pid = 0;
  std::uint32_t uid = 0;
  char step[32] = {};
  char home[512] = {};
};

struct ChildPlan {
  // E
  const int* joins = nullptr;  // files of cgroups to write "0" to
  int join_count = 0;
  int init_pidfd = -1;
  bool own_clocks = false;  // init has a time namespace of its own
  Profile profile = Profile::kDefault;
  unsigned cpus = 0;      // confine.h
  Scheduling scheduling;  // set by enter(), while the guest cannot reach it yet
  SignalBits changed_signals = ~SignalBits{0};
  bool is_prepared = false;   // confine.h
  pid_t* pid_cell = nullptr;  // shared memory: C's pid, as the keeper sees it, before C runs
  int status_fd = -1;

  // C
  int stdio[3] = {-1, -1, -1};
  TerminalPlan terminal;  // stdio is then all this
  int line_fd = -1;       // a shell's long line; it finds it as kLineFd (long_arguments.h)
  const char* user = "";
  const char* cwd = "";  // empty: the user's home, else "/"
  bool die_with_keeper = false;

  // of a command: argv, and env with kSpareEnv free places before the final nullptr
  char** argv = nullptr;
  char** env = nullptr;
  int env_count = 0;

  // of a file task: runs as C with `task_fd` and, if it writes a layer, `layer_root_fd`; returns
  // the exit code
  int (*task)(int fd, int layer_root_fd, void* data) = nullptr;
  void* task_data = nullptr;
  int task_fd = -1;
  int layer_root_fd = -1;
};

inline constexpr int kSpareEnv = 6;

// In E.
[[noreturn]] void enter(const ChildPlan& plan);

// For a zygote (zygote.h), which is E for many commands. It joins the namespaces of init, all but
// that of cgroups. A pid namespace holds for children alone. False with errno.
bool enter_namespaces(int init_pidfd, bool own_clocks);
// In C, a child of the zygote: joins the plan's groups and becomes the program.
[[noreturn]] void become_command(const ChildPlan& plan);
// Writes that `step` failed to the status pipe.
void report_failure(int status_fd, const char* step, int err);

}  // namespace cay::keeper
