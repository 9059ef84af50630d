#include "store/registry_table.h"

#include "store/power_cut.h"

namespace cay::store {

// An answer that a password is kept is true after a power cut.
Result<void> RegistryTable::put(const core::StoredImageRegistry& registry) {
  return durably(db_, [&]() -> Result<void> {
    CAY_TRY(db::Statement row,
            db_.prepare("INSERT INTO registry (id, tenant, name, url, username, password, "
                        "created_by, updated_by, created_at, updated_at) "
                        "VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET "
                        "name = excluded.name, url = excluded.url, username = excluded.username, "
                        "password = excluded.password, updated_by = excluded.updated_by, "
                        "updated_at = excluded.updated_at"));
    const ImageRegistry& info = registry.info;
    row.bind(info.id.get()).bind(info.tenant.get()).bind(info.name).bind(info.url);
    row.bind(info.username).bind(registry.password).bind(info.created_by).bind(info.updated_by);
    auto done = row.bind(info.created_at).bind(info.updated_at).run();
    if (!done && done.error().code == Code::kAlreadyExists) {
      return Error{Code::kAlreadyExists, "registry_exists",
                   "a registry named '" + info.name + "' exists: choose another name", 0};
    }
    return done;
  });
}

// A password that was removed must not come back.
Result<void> RegistryTable::erase(const RegistryId& id) {
  return durably(db_, [&]() -> Result<void> {
    CAY_TRY(db::Statement row, db_.prepare("DELETE FROM registry WHERE id = ?"));
    return row.bind(id.get()).run();
  });
}

Result<std::vector<core::StoredImageRegistry>> RegistryTable::of(const TenantId& tenant) {
  CAY_TRY(db::Statement rows,
          db_.prepare("SELECT id, tenant, name, url, username, password, created_by, updated_by, "
                      "created_at, updated_at FROM registry WHERE tenant = ? ORDER BY name"));
  rows.bind(tenant.get());
  std::vector<core::StoredImageRegistry> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    core::StoredImageRegistry registry;
    registry.info.id = RegistryId(rows.text(0));
    registry.info.tenant = TenantId(rows.text(1));
    registry.info.name = rows.text(2);
    registry.info.url = rows.text(3);
    registry.info.username = rows.text(4);
    registry.password = rows.text(5);
    registry.info.created_by = rows.text(6);
    registry.info.updated_by = rows.text(7);
    registry.info.created_at = rows.number(8);
    registry.info.updated_at = rows.number(9);
    out.push_back(std::move(registry));
  }
}

}  // namespace cay::store
