// Processes of a call: which ones it started, and their end.
#pragma once
#include <cstddef>

#include "code/shell/text.h"

namespace cay::shell {

constexpr std::size_t kMostChildren = 1024;

// Children of one process, as the kernel lists them.
struct Children {
  int pids[kMostChildren];
  std::size_t count = 0;

  bool has(int pid) const;
  // Adds those of `parent`. Without /proc there are none.
  void add_of(int parent);
  // Adds all processes below `parent`, except `other` and those below them.
  void add_below(int parent, const Children& other, int depth = 0);
};

// How SIGINT acts on a process. kOther: the process blocks or ignores it. kGone: it has ended.
enum class Interrupt { kEnds, kHandled, kOther, kGone };
Interrupt interrupt_of(int pid);

// Whether bash has just forked one of them. Between fork and execve a child has bash's handler,
// which takes the signal and does nothing.
bool has_new_child(int bash, const Children& reached);
// Whether one of bash's jobs does not ignore the signal yet, which it does soon after its fork.
bool has_new_job(int bash, const Children& earlier);

// Whether `pid` is a fork of bash that has not executed its program yet.
bool is_new_child(int bash, int pid);

// Stopped: a process that stands still while this object lives. A stopped bash forks and reaps
// nothing, so its children can be judged before a signal is sent.
class Stopped {
 public:
  explicit Stopped(int pid);
  ~Stopped();
  Stopped(const Stopped&) = delete;

 private:
  int pid_;
};

// Sends SIGINT to `pid` if the signal ends it, and to `bash`, which is stopped and waits for it.
// Bash goes on with its list of commands where a process ends by itself, so `pid` is stopped
// meanwhile. Returns false if it ended before that.
bool interrupt_child(int bash, int pid);

// Sends SIGINT to the processes below bash that it ends, in bash's group. Jobs in the background
// ignore it, so these are what interrupted calls left behind.
void interrupt_foreground(int bash);

// Kills `pid` and all below it.
void kill_tree(int pid, int depth = 0);

}  // namespace cay::shell
