// cay serve: from flags to a running daemon.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "config.h"
#include "core/ports/runtime.h"

namespace cay::app {

// A runtime beside the native one. It runs its sandboxes on this host.
struct OwnedRuntime {
  std::string name;
  std::unique_ptr<core::Runtime> runtime;
};
// Makes them, for the daemon's loop and data directory. Empty: there are none.
using MoreRuntimes =
    std::function<std::vector<OwnedRuntime>(asio::any_io_executor loop, const std::string& data)>;

// Runs until SIGTERM or SIGINT. Returns the exit code: 125 for Cay's own failure, printed on
// stderr.
int serve(const Config& config, const MoreRuntimes& more = {});

}  // namespace cay::app
