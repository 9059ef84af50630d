// Context: the parts of this program that commands use. A command returns the exit code and throws
// ApiError.
#pragma once
#include "cay/client.h"
#include "cli/signals.h"

namespace cay::cli {

struct Context {
  sdk::Client client;
  Signals* signals = nullptr;  // for run, exec, attach and logs
  bool json = false;
};

}  // namespace cay::cli
