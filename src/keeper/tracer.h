// A guest's tracer can hide the end of a command: the kernel reports a traced process's death to
// its parent only once its tracer has waited for it, or is gone.
#pragma once
#include <sys/types.h>

namespace cay::keeper {

// Kills the process that traces `pid` (a number inside the sandbox), if `pid` is dead and someone
// does. `root_fd` is the sandbox's root, whose /proc is of our own making; -1: this machine's. True
// if it killed one; the end of `pid` follows as a SIGCHLD.
bool kill_tracer_of_dead(int root_fd, pid_t pid);

}  // namespace cay::keeper
