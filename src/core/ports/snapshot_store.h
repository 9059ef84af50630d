// SnapshotStore: the part of the store that keeps snapshots, their tags, and layers. VolumeStore:
// the part that keeps volumes.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "model/snapshot.h"
#include "model/volume.h"

namespace cay::core {

class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;

  // Replaces the row of this id. Its tags stay: SnapshotInfo::tags counts on reading alone.
  virtual Result<void> put(const SnapshotInfo& snapshot) = 0;
  // The same, and moves the tag of its tenant and name to it, in one transaction. It holds after a
  // power cut.
  virtual Result<void> put_tagged(const SnapshotInfo& snapshot, const std::string& tag) = 0;
  virtual Result<void> erase(const SnapshotId& id) = 0;  // and its tags; idempotent
  virtual Result<std::vector<SnapshotInfo>> all() = 0;   // the oldest first; own_bytes is 0

  virtual Result<void> put_layer(const LayerRow& layer) = 0;
  virtual Result<void> erase_layer(const LayerId& id) = 0;  // idempotent
  virtual Result<std::vector<LayerRow>> layers() = 0;
};

class VolumeStore {
 public:
  virtual ~VolumeStore() = default;

  // Replaces the row of this id. Fails kAlreadyExists (volume_exists) if the tenant has that name.
  virtual Result<void> put(const Volume& volume) = 0;
  virtual Result<void> erase(const VolumeId& id) = 0;  // idempotent
  virtual Result<std::vector<Volume>> all() = 0;
};

}  // namespace cay::core
