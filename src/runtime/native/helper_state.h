// The gate and the broker show in the data directory whether they answer, and their identity. These
// functions read it.
#pragma once
#include <string>

#include "core/ports/runtime.h"

namespace cay::runtime {

bool gate_serves(const std::string& data);
bool broker_serves(const std::string& data);

// For `cay doctor`: whether a gate serves this data directory with the identity `wanted` (empty:
// any).
core::Feature gate_feature(const std::string& data, const std::string& wanted);
// ... and whether a broker does, which keeps secrets.
core::Feature vault_feature(const std::string& data);

}  // namespace cay::runtime
