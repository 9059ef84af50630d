// Makes the directory that a sandbox's commands run in, as `docker run --workdir` does.
#pragma once
#include <memory>

#include "core/ports/runtime.h"

namespace cay::core {

// Makes `run.workdir` with its parents where it is missing; it then belongs to `run.user`. No
// workdir: does nothing. Fails: kInvalidArgument (bad_cwd) it is no directory; as
// LiveSandbox::make_directory where it cannot be made.
Task<void> make_workdir(std::shared_ptr<LiveSandbox> live, RunConfig run);

}  // namespace cay::core
