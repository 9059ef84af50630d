// cay serve: from flags to a running daemon.
#pragma once
#include "config.h"

namespace cay::app {

// Runs until SIGTERM or SIGINT. Returns the process's exit code (125: Cay's own failure, said on stderr).
int serve(const Config& config);

}  // namespace cay::app
