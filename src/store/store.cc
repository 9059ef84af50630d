#include "store/store.h"

#include <fcntl.h>

#include <cerrno>

#include "db/database.h"
#include "store/data_lock.h"
#include "store/power_cut.h"
#include "store/registry_table.h"
#include "store/schema.h"
#include "store/snapshot_table.h"
#include "store/sqlite_sandboxes.h"
#include "store/volume_table.h"

namespace cay::store {
namespace {

class SqliteStore final : public SqliteSandboxes {
 public:
  using SqliteSandboxes::SqliteSandboxes;

  core::SnapshotStore& snapshots() override { return snapshots_; }
  core::VolumeStore& volumes() override { return volumes_; }
  core::ImageRegistryStore& image_registries() override { return registries_; }

  Result<std::optional<std::string>> get_meta(const std::string& key) override {
    CAY_TRY(db::Statement row, db().prepare("SELECT value FROM meta WHERE key = ?"));
    CAY_TRY(const bool found, row.bind(key).step());
    if (!found) return std::optional<std::string>();
    return std::optional<std::string>(row.text(0));
  }

  Result<void> put_meta(const std::string& key, const std::string& value) override {
    CAY_TRY(db::Statement row,
            db().prepare("INSERT INTO meta (key, value) VALUES (?, ?) "
                         "ON CONFLICT (key) DO UPDATE SET value = excluded.value"));
    return row.bind(key).bind(value).run();
  }

  Result<void> check() override {
    return put_meta("checked_at", std::to_string(system_clock().wall()));
  }
  std::uint64_t failures() const override { return db::failures(); }

 private:
  SnapshotTable snapshots_{db()};
  VolumeTable volumes_{db()};
  RegistryTable registries_{db()};
};

// SQLite makes its files with the mode of the database file: it must be private before the first
// byte.
Result<void> make_private(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::from_errno(errno, "open " + path);
  return {};
}

}  // namespace

Result<std::unique_ptr<core::Store>> open_store(const std::string& data_dir, StoreOptions options) {
  CAY_TRY(DataLock lock, DataLock::take(data_dir));
  const std::string path = data_dir + "/state.db";
  CAY_CHECK(make_private(path));
  CAY_TRY(auto db, open_database(path));
  CAY_CHECK(db->execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; "
      "PRAGMA trusted_schema = OFF"));
  CAY_CHECK(migrate(*db));
  CAY_CHECK(note_opening(*db, options.boot_id));
  auto sync = keep_synced(*db, data_dir, path);
  return std::unique_ptr<core::Store>(
      std::make_unique<SqliteStore>(std::move(lock), std::move(db), std::move(sync), options));
}

}  // namespace cay::store
