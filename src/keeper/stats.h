// Reads the present use of a sandbox from its cgroups and its file systems.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "keeper/keeper.h"
#include "keeper/slots.h"
#include "wire/messages.h"

namespace cay::keeper {

// The file systems in memory that a sandbox begins with (/dev/shm, /run, those at `more`), O_PATH.
// To be called before anything inside runs: what is mounted there later may answer when it likes.
std::vector<int> open_tmpfs(int root_fd, const std::vector<std::string>& more = {});

// The bytes that files in them hold at the moment, as the file systems count it (statfs(2)). The
// memory group's count (`shmem` in memory.stat) may be two seconds late: the kernel adds a child's
// changes to its parent in rounds.
std::uint64_t bytes_in_tmpfs(const Context& context);

wire::StatsMsg read_stats(const Context& context, const Slots& slots, std::uint32_t running);

}  // namespace cay::keeper
