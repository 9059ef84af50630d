#include <fcntl.h>
#include <sqlite3.h>

#include <cerrno>
#include <memory>

#include "base/unique_fd.h"
#include "db/database.h"

namespace cay::db {
namespace {

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
using Handle = std::unique_ptr<sqlite3, Close>;

Result<Handle> open(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Handle handle(raw);
  if (code == SQLITE_OK) return handle;
  return Error{Code::kUnavailable, "store_failed", "open " + path + ": " + sqlite3_errstr(code), 0};
}

}  // namespace

Result<void> copy_database(const std::string& from, const std::string& to) {
  const UniqueFd fresh(
      ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fresh) return Error::from_errno(errno, "make " + to);
  // Read-write: a reader of a write-ahead log keeps its place in a file beside it.
  CAY_TRY(const Handle source, open(from, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW));
  CAY_TRY(const Handle target, open(to, SQLITE_OPEN_READWRITE));
  constexpr int kBusyMillis = 10'000;
  sqlite3_busy_timeout(source.get(), kBusyMillis);
  sqlite3_backup* backup = sqlite3_backup_init(target.get(), "main", source.get(), "main");
  if (backup == nullptr) {
    return Error{Code::kUnavailable, "store_failed",
                 std::string("copy the database: ") + sqlite3_errmsg(target.get()), 0};
  }
  const int stepped = sqlite3_backup_step(backup, -1);  // all pages in one read transaction
  const int finished = sqlite3_backup_finish(backup);
  if (stepped != SQLITE_DONE || finished != SQLITE_OK) {
    return Error{Code::kUnavailable, "store_failed",
                 std::string("copy the database: ") +
                     sqlite3_errstr(finished != SQLITE_OK ? finished : stepped),
                 0};
  }
  // One file, without a log beside it.
  if (sqlite3_exec(target.get(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr) !=
      SQLITE_OK) {
    return Error{Code::kUnavailable, "store_failed",
                 std::string("copy the database: ") + sqlite3_errmsg(target.get()), 0};
  }
  return {};
}

}  // namespace cay::db
