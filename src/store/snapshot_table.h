// SnapshotTable: snapshots, their tags, and layers.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/ports/snapshot_store.h"
#include "db/database.h"

namespace cay::store {

class SnapshotTable : public core::SnapshotStore {
 public:
  explicit SnapshotTable(db::Database& db) : db_(db) {}

  Result<void> put(const SnapshotInfo& snapshot) override;
  Result<void> put_tagged(const SnapshotInfo& snapshot, const std::string& tag) override;
  Result<void> erase(const SnapshotId& id) override;
  Result<std::vector<SnapshotInfo>> all() override;
  Result<void> put_layer(const LayerRow& layer) override;
  Result<void> erase_layer(const LayerId& id) override;
  Result<std::vector<LayerRow>> layers() override;

 private:
  Result<void> put_tag(const SnapshotInfo& snapshot, const std::string& tag);
  Result<std::vector<SnapshotInfo>> read_all();

  db::Database& db_;
  // all() as it was read last: each creation of a sandbox looks for its snapshot. Nothing: a write
  // may have changed it since.
  std::optional<std::vector<SnapshotInfo>> known_;
};

}  // namespace cay::store
