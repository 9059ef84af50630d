// build_file_wall(): the rights that a file helper gives up by Landlock before it touches a guest
// path. It is a second wall behind its namespaces, its capabilities and the filter.
// Async-signal-safe: no allocation, no locks.
#pragma once

namespace cay::keeper {

// From now on the calling thread may read, write, make, rename and remove files, directories and
// links below "/", and nothing else, as far as this kernel's Landlock goes. It executes nothing and
// makes no device, FIFO or socket. It neither binds nor connects TCP, uses abstract sockets or
// signals others. It must have no_new_privs.
//
// With `layer_root_fd` all this is below that directory instead of "/", and it may make FIFOs.
//
// Returns 0, also where the kernel has no Landlock, or -1 with errno.
int build_file_wall(int layer_root_fd = -1);

}  // namespace cay::keeper
