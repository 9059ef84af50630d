// The sandboxes that subagents have for themselves: new ones, and copies of their agent's.
#pragma once
#include <memory>

#include "agent/loop/harness.h"

namespace cay::agent {

// Opens the sandbox that a subagent's thread has requested. It is the same one each time, so that a
// process that takes over finds what a killed one has made. `request` is that of new sandboxes.
Task<std::unique_ptr<providers::Backend>> open_requested(providers::Provider* provider,
                                                         providers::SandboxRequest request,
                                                         RequestedSandbox requested);

// Removes the sandboxes of subagents whose calls began and have no result. Nobody goes on in them:
// the caller closes the calls, or removes the agent's sandbox. One that cannot be removed is left
// to its timers.
Task<void> remove_subagent_sandboxes(Harness* harness, providers::Provider* provider,
                                     providers::SandboxRequest request);

}  // namespace cay::agent
