// The system calls that init still makes once the sandbox is up: it waits, reaps and ends.
#pragma once

namespace cay::launcher {

// Loads the filter for the calling thread, which must have no_new_privs. Any other call than
// waiting for children, polling, reading and ending kills the process from then on, and with init
// its sandbox. It allocates nothing. False: the kernel refused, with errno.
bool load_init_filter();

}  // namespace cay::launcher
