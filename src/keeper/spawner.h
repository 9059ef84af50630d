// Spawner: starts programs and file tasks inside, and knows when a start is over. The guest can see
// a started child shortly before its exec and may stop or kill it. So a start has a deadline, and a
// child in doubt is replaced.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/child.h"
#include "keeper/keeper.h"
#include "keeper/loop.h"
#include "keeper/reaper.h"
#include "keeper/slots.h"
#include "keeper/zygote.h"

namespace cay::keeper {

// The program to start. The descriptors stay the caller's and must live until the start is over.
struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string user;
  std::string cwd;
  int stdio[3] = {-1, -1, -1};
  TerminalPlan terminal;
  int line_fd = -1;  // becomes kLineFd (long_arguments.h)
  int (*task)(int fd, int layer_root_fd, void* data) = nullptr;
  void* task_data = nullptr;
  int task_fd = -1;
  int layer_root_fd = -1;  // confine.h
};

struct Started {
  pid_t pid = 0;        // the keeper's child
  pid_t guest_pid = 0;  // as it sees itself
  std::string home;     // of its user
  uid_t uid = 0;
  std::optional<Exit> exit;  // already over
};

class Spawner {
 public:
  using OnStarted = std::function<void(Result<Started>)>;

  Spawner(Loop& loop, Reaper& reaper, const Context& context, const Slots& slots);
  ~Spawner();

  // `on_started` comes from the loop, once, when the program runs (exec is done) or has failed:
  // kInvalidArgument bad_user, bad_cwd, command_not_found, not_executable; kExhausted pids_limit,
  // memory_limit; kUnavailable start_interfered; else kInternal start_failed.
  void start(Program program, Slot& slot, OnStarted on_started);

  // Runs when something has begun to run inside, from the loop and before its own callback.
  void on_any_started(std::function<void()> action) { on_any_started_ = std::move(action); }

  std::size_t in_flight() const { return attempts_.size(); }
  // Processes of its own that the sandbox's groups count.
  std::uint32_t counted() const { return zygote_.counted(); }
  // Nothing is started from here on, and no process of its own is left.
  void close() { zygote_.close(); }
  // Kills what is being started; their callbacks come with kUnavailable shutting_down.
  void abort_all();

 private:
  struct Attempt;
  std::optional<Error> launch(Attempt& attempt);
  // Takes in what the status pipe holds; true at its end.
  static bool read_status(Attempt& attempt);
  void on_status(Attempt& attempt);
  void hear_no_more(Attempt& attempt);
  void on_deadline(Attempt& attempt);
  void replace(Attempt& attempt);
  void settle(Attempt& attempt);
  void finish(Attempt& attempt, Result<Started> result);
  void resolve(pid_t pid);
  Error failure(const Attempt& attempt) const;

  Loop& loop_;
  Reaper& reaper_;
  const Context& context_;
  SignalBits changed_signals_;  // of the keeper, which sets none later
  pid_t* cells_ = nullptr;      // shared memory, one for each attempt in flight
  std::vector<std::uint32_t> free_cells_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  Zygote zygote_;
  std::function<void()> on_any_started_;
};

}  // namespace cay::keeper
