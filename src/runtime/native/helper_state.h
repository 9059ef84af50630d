// What the daemon's helpers, the gate and the broker, show of themselves in the data directory: whether they answer, and what they go by.
#pragma once
#include <string>

#include "core/ports/runtime.h"

namespace cay::runtime {

bool gate_serves(const std::string& data);
bool broker_serves(const std::string& data);

// For `cay doctor`: whether a gate serves this data directory, and goes by `wanted` (empty: not asked).
core::Feature gate_feature(const std::string& data, const std::string& wanted);
// ... and whether a broker does, which keeps secrets.
core::Feature vault_feature(const std::string& data);

}  // namespace cay::runtime
