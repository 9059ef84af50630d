// VolumeTable: named directories that outlive the sandboxes that mount them.
#pragma once
#include <vector>

#include "core/ports/snapshot_store.h"
#include "db/database.h"

namespace cay::store {

class VolumeTable : public core::VolumeStore {
 public:
  explicit VolumeTable(db::Database& db) : db_(db) {}

  Result<void> put(const Volume& volume) override;
  Result<void> erase(const VolumeId& id) override;
  Result<std::vector<Volume>> all() override;

 private:
  db::Database& db_;
};

}  // namespace cay::store
