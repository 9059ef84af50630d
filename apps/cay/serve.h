// cay serve: from flags to a running daemon.
#pragma once
#include "config.h"

namespace cay::app {

// Runs until SIGTERM or SIGINT. Returns the exit code: 125 for Cay's own failure, printed on
// stderr.
int serve(const Config& config);

}  // namespace cay::app
