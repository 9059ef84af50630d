// Session: one command shown in this terminal: its bytes to stdout and stderr, ours to its stdin,
// signals and sizes passed on.
#pragma once
#include <string>

#include "cay/client.h"
#include "cli/signals.h"

namespace cay::cli {

struct SessionOptions {
  bool interactive = false;  // pass stdin on
  bool terminal = false;     // raw mode, if stdin is a terminal
  bool json = false;         // gather, and print one JSON document
  bool owner = true;         // false (attach): Ctrl-C leaves, and the command runs on
  std::string left_behind;   // said when the third Ctrl-C leaves: what stays then
};

// Runs to the command's end; returns the exit code. Throws ApiError.
int run_session(sdk::Command command, const std::string& sandbox, const SessionOptions& options, Signals& signals);

}  // namespace cay::cli
