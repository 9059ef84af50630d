// A pseudo-terminal pair of the sandbox's own devpts. The child that will use it opens it as its
// own user. So it belongs to that user, as devpts gives each terminal to its opener, and no id of
// the host's owns anything inside.
#pragma once
#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::keeper {

// The child's part of the plan.
struct TerminalPlan {
  int socket = -1;  // where it sends the keeper's side to; -1: no terminal
  int devpts = -1;  // the root of a devpts mount; -1: the host's /dev/ptmx
  std::uint16_t rows = 24, cols = 80;
};

// Runs in the child between clone and exec, so it allocates nothing. Opens a pair of that size,
// sends the keeper's side (non-blocking) and returns the user's, or -1 with errno. `socket` and
// `devpts` are the plan's descriptors, at their present numbers.
int open_terminal(int socket, int devpts, const TerminalPlan& plan);

// The keeper's side, of the last child that sent one: a start may have been tried again. Fails:
// kInternal start_failed.
Result<UniqueFd> receive_terminal(int socket);

void set_terminal_size(int fd, std::uint16_t rows, std::uint16_t cols);

}  // namespace cay::keeper
