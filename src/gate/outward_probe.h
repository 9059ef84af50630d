// Tries from within its confinement what a taken-over gate or broker could do. Every attempt is
// harmless if it succeeds: it reads one byte, or requests the impossible.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

#include "base/result.h"

namespace cay::gate {

// One line for each attempt: its name, and "ok" or the error's name. `process` is one of the same
// user's; `directory` its own, `readable` one that it only reads (-1: none). Without `confine` it
// is the control. Does not return to an unconfined process: call it last.
Result<void> probe_outward(const std::string& data, pid_t process, int directory, int readable,
                           const std::function<Result<int>()>& confine);

}  // namespace cay::gate
