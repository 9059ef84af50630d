// The whole of the program `cay`: clients' commands are src/cli, the others are here.
#pragma once
#include "serve.h"

namespace cay::app {

// Runs the command that `argv` names, and returns its exit code. `more`: for `serve`.
int run_program(int argc, char** argv, const MoreRuntimes& more = {});

}  // namespace cay::app
