// RegistryTable: registries of images with their passwords, which are in the clear in state.db
// (0600). SQLite overwrites the bytes of a removed password when it needs their place again.
#pragma once
#include <vector>

#include "core/ports/image_registry_store.h"
#include "db/database.h"

namespace cay::store {

class RegistryTable : public core::ImageRegistryStore {
 public:
  explicit RegistryTable(db::Database& db) : db_(db) {}

  Result<void> put(const core::StoredImageRegistry& registry) override;
  Result<void> erase(const RegistryId& id) override;
  Result<std::vector<core::StoredImageRegistry>> of(const TenantId& tenant) override;

 private:
  db::Database& db_;
};

}  // namespace cay::store
