// Worker: serves the launcher's socket. One thread, one loop. It may be killed at any instant: all
// it needs is in the records on disk and in the guardian's descriptors.
#pragma once
#include "launcher/host.h"

namespace cay::launcher {

// `listen_fd` is a non-blocking listening UNIX socket; `guardian_fd` a pipe whose other end only
// the guardian holds: its end is ours. Returns only with an error.
Error run_worker(Host& host, int listen_fd, int guardian_fd);

}  // namespace cay::launcher
