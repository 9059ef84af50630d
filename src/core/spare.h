// Spare: a sandbox that was booted ahead (core/warm_pool.h) and that nobody has used.
#pragma once
#include <memory>
#include <string>

#include "core/ports/live_sandbox.h"
#include "model/ids.h"

namespace cay::core {

struct Spare {
  SandboxId id;
  std::string name;    // its host name is the same
  std::string policy;  // it was booted with
  std::shared_ptr<LiveSandbox> live;
};

}  // namespace cay::core
