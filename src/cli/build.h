// Builds of snapshots on the command line.
#pragma once
#include "cli/args.h"
#include "cli/context.h"

namespace cay::cli {

// Makes a snapshot of Debian packages: mmdebstrap runs in a sandbox of its own, and the root file
// system that it wrote is imported. The sandbox is removed in any case. Returns the exit code.
int build_of_packages(Context& at, const BuildArgs& args);

}  // namespace cay::cli
