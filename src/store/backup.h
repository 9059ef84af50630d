// Copies of the store for backups, and what a restored copy needs. No daemon has to be asked.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace cay::store {

struct StoredSandbox {
  std::string id, name, state, snapshot_id;
};

// Copies the database `from` to the new file `to` (mode 0600) as of one moment, by SQLite's backup API: a daemon may
// go on writing meanwhile. Fails kUnavailable (store_failed).
Result<void> copy_database(const std::string& from, const std::string& to);

// Every sandbox in it. Fails kUnsupported (store_too_new) on a schema that this program does not know.
Result<std::vector<StoredSandbox>> sandboxes_in(const std::string& database);

// Brings a restored copy's schema forward and marks as stopped what ran when it was taken.
Result<void> settle_restored(const std::string& database, UnixMillis now);

}  // namespace cay::store
