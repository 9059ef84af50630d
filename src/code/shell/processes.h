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
};

// Kills `pid` and all below it.
void kill_tree(int pid, int depth = 0);

}  // namespace cay::shell
