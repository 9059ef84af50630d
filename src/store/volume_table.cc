#include "store/volume_table.h"

#include "store/power_cut.h"

namespace cay::store {

// An answer that it is made is true after a power cut: else its directory would be nobody's.
Result<void> VolumeTable::put(const Volume& volume) {
  return durably(db_, [&]() -> Result<void> {
    CAY_TRY(db::Statement row,
            db_.prepare("INSERT INTO volume (id, tenant, name, disk_bytes, created_by, created_at) "
                        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                        "name = excluded.name, disk_bytes = excluded.disk_bytes"));
    auto done = row.bind(volume.id.get())
                    .bind(volume.tenant.get())
                    .bind(volume.name)
                    .bind(static_cast<std::int64_t>(volume.disk_bytes))
                    .bind(volume.created_by)
                    .bind(volume.created_at)
                    .run();
    if (!done && done.error().code == Code::kAlreadyExists) {
      return Error{Code::kAlreadyExists, "volume_exists",
                   "a volume named '" + volume.name + "' exists: choose another name", 0};
    }
    return done;
  });
}

Result<void> VolumeTable::erase(const VolumeId& id) {
  CAY_TRY(db::Statement row, db_.prepare("DELETE FROM volume WHERE id = ?"));
  return row.bind(id.get()).run();
}

Result<std::vector<Volume>> VolumeTable::all() {
  CAY_TRY(db::Statement rows,
          db_.prepare("SELECT id, tenant, name, disk_bytes, created_by, created_at FROM volume "
                      "ORDER BY tenant, name"));
  std::vector<Volume> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    Volume volume;
    volume.id = VolumeId(rows.text(0));
    volume.tenant = TenantId(rows.text(1));
    volume.name = rows.text(2);
    volume.disk_bytes = static_cast<std::uint64_t>(rows.number(3));
    volume.created_by = rows.text(4);
    volume.created_at = rows.number(5);
    out.push_back(std::move(volume));
  }
}

}  // namespace cay::store
