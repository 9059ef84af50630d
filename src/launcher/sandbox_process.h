// The first steps of each process that the launcher forks for a sandbox: keeper and groundwork.
#pragma once
#include <sys/types.h>

#include <vector>

#include "base/result.h"
#include "launcher/host.h"

namespace cay::launcher {

// Takes off the calling process what it has of the launcher: descriptors but for `kept`, terminal,
// keyrings, signal handling, its name and arguments. Standard streams lead to /dev/null.
void reset_process(const Host& host, const char* name, std::vector<int> kept);

// The launcher may be protected from the kernel's out-of-memory killer. Its children are not,
// because they fork the guest's processes. A process may always go back to the lowest value that
// root gave it (proc(5), oom_score_adj).
Result<void> be_an_ordinary_victim();

// Becomes the host uid of a keeper, with no capability but those that making namespaces and a jail
// takes.
Result<void> become_keeper(uid_t uid);

}  // namespace cay::launcher
