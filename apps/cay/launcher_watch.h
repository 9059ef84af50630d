// LauncherWatch: the one part of `cay serve` that stays root if root started it. A pair of
// processes starts the launcher again when it dies, and each other. They take no input and end with
// the daemon.
#pragma once
#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher_process.h"

namespace cay::app {

// As start_watcher() (watcher.h). A launcher that was ended on purpose (`cay launcher --stop`) is
// left alone until somebody starts it again.
Result<UniqueFd> watch_launcher(const LauncherOptions& options);

}  // namespace cay::app
