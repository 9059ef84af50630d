// SqliteFile: the open database of a data directory, under the classes of its ports.
//
// The store is a stack of classes, one for each port. On SqliteFile stand SqliteJournal,
// SqliteUsage, SqliteLinks, SqliteSecrets and SqliteSandboxes, in this order. SqliteStore in
// store.cc is the top, with the small facts.
#pragma once
#include <memory>
#include <utility>

#include "core/ports/store.h"
#include "db/database.h"
#include "store/data_lock.h"
#include "store/power_cut.h"

namespace cay::store {

class SqliteFile : public core::Store {
 public:
  SqliteFile(DataLock lock, std::unique_ptr<db::Database> db, std::unique_ptr<WalSync> sync)
      : lock_(std::move(lock)), db_(std::move(db)), sync_(std::move(sync)) {}
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;
  ~SqliteFile() override {
    const auto closed = close_politely(*db_);
    (void)closed;  // then events jump after the host's next boot, and no harm is done
  }

 protected:
  db::Database& db() { return *db_; }

 private:
  DataLock lock_;  // let go last
  std::unique_ptr<db::Database> db_;
  std::unique_ptr<WalSync> sync_;
};

}  // namespace cay::store
