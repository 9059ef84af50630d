// Loads the kernel part of the program record (programs.bpf.c) and attaches it. Reading the
// kernel's type information takes tens of milliseconds and as many megabytes: this is for a forked
// child, which hands the descriptors on.
#pragma once
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

struct ProgramPart {
  UniqueFd rings, states;  // maps by the id of a sandbox's cgroup: of its ring, of its counters
  std::vector<UniqueFd> links;  // the tracepoints: attached as long as one process holds them
};

// kUnsupported (programs_unsupported) where the kernel cannot; the message names the step.
Result<ProgramPart> load_program_part();

}  // namespace cay::launcher
