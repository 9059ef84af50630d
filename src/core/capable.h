// Refusals of requests that a runtime cannot serve, before anything is made for them.
#pragma once
#include "base/result.h"
#include "core/ports/capabilities.h"
#include "core/registry.h"
#include "model/sandbox.h"

namespace cay::core {

// `spec` is checked (core/validate.h). `names_policy`: the request itself has the policy, and would
// not do with less. Fails kUnsupported, with the reason of what is missing.
Result<void> check_boot(const Capabilities& can, const SandboxSpec& spec, bool names_policy);

// The sandbox has a runtime that is configured.
Result<void> check_pause(const Entry& entry);    // pause_unsupported
Result<void> check_tunnels(const Entry& entry);  // tunnels_unsupported
Result<void> check_paths(const Entry& entry);    // paths_unsupported

}  // namespace cay::core
