// build_file_wall(): what a file helper takes from itself by Landlock, before it touches a guest path: a second wall behind its
// namespaces, its capabilities and the filter. Async-signal-safe: no allocation, no locks.
#pragma once

namespace cay::keeper {

// Below "/" the calling thread may read, write, make, rename and remove files, directories and links from now on, and nothing
// else: it executes nothing, makes no device, FIFO or socket, and neither binds nor connects TCP, speaks to abstract sockets or
// signals others, as far as this kernel's Landlock goes. It must have no_new_privs. Returns 0, also where the kernel has no
// Landlock, or -1 with errno.
int build_file_wall();

}  // namespace cay::keeper
