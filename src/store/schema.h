// The schema's history. A version is for ever: add one, never change one.
#pragma once
#include <memory>
#include <string>

#include "db/database.h"
#include "db/migrations.h"

namespace cay::store {

// The version this program writes, and the oldest that it brings forward.
int schema_version();
inline constexpr int kOldestSchema = 0;  // 0: a new file

// Opens or makes the file of a store. Its errors name the store. Fails as db::Database::open.
Result<std::unique_ptr<db::Database>> open_database(const std::string& path);

// kUnsupported: store_too_new if it was written by a newer Cay, store_too_old if by one too long
// ago.
Result<std::int64_t> check_version(db::Database& db);

// Brings the database to `to`, each step a transaction. Fails as check_version.
Result<void> migrate(db::Database& db, int to = schema_version());

}  // namespace cay::store
