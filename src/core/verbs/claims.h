// Claims: finds the sandbox that holds a claim, or makes it. A claim is a text that is unique in a
// tenant, as "thread:7".
#pragma once
#include <string>

#include "core/verbs/sandboxes.h"

namespace cay::core {

struct Ensured {
  Sandbox sandbox;
  bool created = false;  // by this call
};

class Claims {
 public:
  virtual ~Claims() = default;
  // Returns the sandbox that holds `claim`, whatever its settings are, or makes it from `spec`.
  // Callers at the same time get the same sandbox, or the same error. A stopped one is started, a
  // paused one stays paused. With wait_for_ready the call returns once it runs, and fails
  // kDeadlineExceeded (boot_timeout) after `options.timeout`.
  //
  // Its making goes on if the caller leaves: the next call finds it. A sandbox that fails or is
  // being deleted no longer holds its claim. Fails kInvalidArgument (invalid_claim), and as
  // Sandboxes::create.
  virtual Task<Ensured> ensure(Principal who, SandboxSpec spec, std::string claim,
                               CreateOptions options) = 0;
};

}  // namespace cay::core
