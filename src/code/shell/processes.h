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

// How SIGINT acts on a process. The value kOther means that the process blocks or ignores it, or
// that it has ended.
enum class Interrupt { kEnds, kHandled, kOther };
Interrupt interrupt_of(int pid);

// Whether bash has just forked one of them. Between fork and execve a child has bash's handler,
// which takes the signal and does nothing.
bool has_new_child(int bash, const Children& reached);
// Whether one of bash's jobs does not ignore the signal yet, which it does soon after its fork.
bool has_new_job(int bash, const Children& earlier);

// Kills `pid` and all below it.
void kill_tree(int pid, int depth = 0);

}  // namespace cay::shell
