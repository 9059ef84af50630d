// From the launcher's messages to the model. Pure.
#pragma once
#include "core/ports/runtime.h"
#include "wire/messages.h"

namespace cay::runtime {

core::Feature to_model(const wire::FeatureMsg& message);
SnapshotInfo to_model(const wire::SnapshotMsg& message);
core::Layer to_model(const wire::LayerMsg& message);

}  // namespace cay::runtime
