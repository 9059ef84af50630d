// LauncherWatch: the one part of `cay serve` that stays root, when root started it: a child that starts the
// launcher again when it dies. It takes no input, and ends with the daemon.
#pragma once
#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher_process.h"

namespace cay::app {

// Forks the watcher; call it while this process has one thread. The watcher lives as long as the descriptor.
// A launcher that was ended on purpose (`cay launcher --stop`) is left alone until somebody starts it again.
Result<UniqueFd> watch_launcher(const LauncherOptions& options);

}  // namespace cay::app
