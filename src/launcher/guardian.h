// Guardian: the root of the launcher. It opens the host and the socket, forks the worker, and forks
// it again when it dies; sandboxes notice neither. SIGTERM or SIGINT end both and leave sandboxes
// alive.
#pragma once
#include "launcher/config.h"

namespace cay::launcher {

// Undumpable, named, without a standard input, umask 077: the program's first line.
void harden_process();

// Serves until it is stopped. Returns the exit code (0 or 125). The reason of a failure is on
// stderr.
int run_guardian(Config config);

}  // namespace cay::launcher
