#include "runtime/native/launcher_messages.h"

namespace cay::runtime {

core::Feature to_model(const wire::FeatureMsg& message) {
  return core::Feature{.name = message.name,
                       .ok = message.ok,
                       .found = message.found,
                       .fallback = message.fallback,
                       .remedy = message.remedy};
}

SnapshotInfo to_model(const wire::SnapshotMsg& message) {
  return SnapshotInfo{.id = SnapshotId(message.id),
                      .name = message.name,
                      .status = message.status,
                      .fingerprint = message.fingerprint,
                      .used_bytes = message.used_bytes,
                      .created_at = message.created_at};
}

core::Layer to_model(const wire::LayerMsg& message) {
  core::Layer layer;
  layer.id = LayerId(message.layer_id);
  for (const std::string& id : message.below) layer.below.emplace_back(id);
  layer.bytes = message.bytes;
  return layer;
}

}  // namespace cay::runtime
