// A pseudo-terminal pair of the sandbox's own devpts.
#pragma once
#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::keeper {

struct Terminal {
  UniqueFd keeper_side;  // non-blocking
  UniqueFd user_side;
};

// `devpts`: the root of a devpts mount; -1: the host's /dev/ptmx. The size is set before anything
// runs in it.
Result<Terminal> open_terminal(int devpts, std::uint16_t rows, std::uint16_t cols);
void set_terminal_size(int fd, std::uint16_t rows, std::uint16_t cols);

}  // namespace cay::keeper
