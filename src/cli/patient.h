// patient_get, patient_request: for what is looked at for long. A daemon that restarts meanwhile is
// waited for.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "cli/context.h"

namespace cay::cli {

// Waits until then; false: the user has had enough.
using Pause = std::function<bool(std::chrono::steady_clock::time_point)>;

Pause sleeping();

// Returns the body of the answer, and retries for up to a minute while no daemon answers. For
// requests that may be repeated. nullopt: `pause` returned false.
std::optional<std::string> patient_request(Context& at, const std::string& method,
                                           const std::string& target, const std::string& body,
                                           const Pause& pause);
std::optional<std::string> patient_get(Context& at, const std::string& target, const Pause& pause);

}  // namespace cay::cli
