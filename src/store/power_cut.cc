#include "store/power_cut.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "base/unique_fd.h"

namespace cay::store {
namespace {

constexpr Millis kApart{1000};

Result<std::optional<std::string>> opened_in_boot(db::Database& db) {
  CAY_TRY(db::Statement row, db.prepare_once("SELECT value FROM meta WHERE key = 'open_in_boot'"));
  CAY_TRY(const bool found, row.step());
  return found ? std::optional<std::string>(row.text(0)) : std::nullopt;
}

}  // namespace

Result<void> note_opening(db::Database& db, const std::string& boot_id) {
  CAY_TRY(const auto before, opened_in_boot(db));
  if (before == boot_id) return {};  // a daemon was killed: what it wrote is with the kernel
  return durably(db, [&]() -> Result<void> {
    CAY_TRY(db::Transaction transaction, db::Transaction::begin(db));
    if (before) {
      CAY_TRY(db::Statement rows,
              db.prepare_once("UPDATE event_count SET last_seq = last_seq + ?"));
      CAY_CHECK(rows.bind(kForgottenEventStep).run());
    }
    {
      CAY_TRY(db::Statement row,
              db.prepare_once("INSERT INTO meta (key, value) VALUES ('open_in_boot', ?) "
                              "ON CONFLICT (key) DO UPDATE SET value = excluded.value"));
      CAY_CHECK(row.bind(boot_id).run());
    }
    return transaction.commit();
  });
}

Result<void> close_politely(db::Database& db) {
  return db.execute("DELETE FROM meta WHERE key = 'open_in_boot'");
}

Result<void> durably(db::Database& db, const std::function<Result<void>()>& change) {
  CAY_CHECK(db.execute("PRAGMA synchronous = FULL"));
  auto done = change();
  auto back = db.execute("PRAGMA synchronous = NORMAL");
  return done ? std::move(back) : std::move(done);
}

std::unique_ptr<WalSync> keep_synced(db::Database& db, const std::string& directory,
                                     const std::string& path) {
  // A descriptor of our own: the log is under none of the locks that closing one would drop (those
  // are on the database).
  auto sync = [directory, path = path + "-wal", log = UniqueFd()]() mutable {
    bool synced = true;
    if (!log) {
      log = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
      const UniqueFd dir(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      synced = log && dir && ::fsync(dir.get()) == 0;  // its name, too
    }
    if (!synced || ::fdatasync(log.get()) != 0) db::count_failure();
  };
  auto out = std::make_unique<WalSync>(
      [shared = std::make_shared<decltype(sync)>(std::move(sync))] { (*shared)(); }, kApart);
  db.on_commit([syncing = out.get()] { syncing->note(); });
  return out;
}

}  // namespace cay::store
