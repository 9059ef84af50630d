// Processes by pidfd: never a bare pid that may have been reused.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::os {

struct Cloned {
  pid_t pid = 0;   // 0 in the child
  UniqueFd pidfd;  // in the parent
};

// clone3 with fork's semantics, `flags` (CLONE_NEW*, CLONE_PARENT) added, straight into cgroup v2
// directory `cgroup_fd` if >= 0. Only for single-threaded processes.
Result<Cloned> clone_process(std::uint64_t flags, int cgroup_fd = -1);

// Start time of a process in clock ticks since boot: with the pid it names a process for ever. 0 if
// gone.
std::uint64_t start_time_of(pid_t pid);

// Returns the state of a process (proc_pid_stat(5)): 'R', 'S', 'D' (waits for a disk), 'T' (stopped
// by a signal), 't' (by a tracer), 'Z' …, or 0 if it is gone.
char state_of(pid_t pid);

// A pidfd of `pid` if it is still the process that started at `start_time`.
Result<UniqueFd> open_process(pid_t pid, std::uint64_t start_time);

// A pidfd of whichever process has that pid now; empty if there is none.
UniqueFd pidfd_of(pid_t pid);

// Lets go on what a signal has stopped; true if that was so.
bool continue_if_stopped(pid_t pid);

// True once the process has ended (it may still be a zombie).
bool has_ended(int pidfd);

// Idempotent: a process that is gone is success.
void kill_process(int pidfd);

// Closes every descriptor but these.
void close_all_but(std::vector<int> keep);

// For a program that was started with stdin, stdout or stderr closed. The next file or socket that
// it opens would take that number, and be read as input or written to as output. After this call
// input is at its end, output fails as before, and stderr goes nowhere.
void fill_standard_streams();

// Raises the limit of open descriptors as far as this process may without more privileges. Returns
// the limit, or 0 if it is not known.
std::size_t raise_descriptor_limit();

}  // namespace cay::os
