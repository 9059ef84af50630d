// What the gate of a data directory shows of itself: whether it answers, and what it goes by.
#pragma once
#include <string>

#include "core/ports/runtime.h"

namespace cay::runtime {

// What the last gate that began there wrote into DATA/gate/lock: release and settings, as gate_identity() in apps/cay. Empty: it is of
// a release that did not say, none ever began, or we may not read it.
std::string gate_goes_by(const std::string& data);

// Whether one answers.
bool gate_serves(const std::string& data);

// For `cay doctor`: whether a gate serves this data directory, and goes by `wanted` (empty: not asked).
core::Feature gate_feature(const std::string& data, const std::string& wanted);

}  // namespace cay::runtime
