// Session: one command shown in this terminal: its bytes to stdout and stderr, ours to its stdin,
// signals and sizes passed on.
#pragma once
#include <string>

#include "cay/client.h"
#include "cli/signals.h"

namespace cay::cli {

struct SessionOptions {
  bool interactive = false;  // pass stdin on
  bool terminal = false;     // the command has one: ours is raw while stdin is passed on
  bool json = false;         // gather, and print one JSON document
  bool owner = true;         // false (attach): Ctrl-C leaves, and the command runs on
  std::string left_behind;   // printed when the third Ctrl-C leaves: a sentence on what stays
  bool removed = false;      // the sandbox goes with the command
};

// Runs to the command's end and returns the exit code. Throws ApiError. `sandbox` is the name by
// which a person knows `box`, where the command runs. After a failure it prints the gate's refusals
// too.
int run_session(sdk::Command command, const sdk::Sandbox& box, const std::string& sandbox,
                const SessionOptions& options, Signals& signals);

}  // namespace cay::cli
