// The schema's history. A version is for ever: add one, never change one.
#pragma once
#include "store/sqlite.h"

namespace cay::store {

// The version this program writes, and the oldest that it brings forward.
int schema_version();
inline constexpr int kOldestSchema = 0;  // 0: a new file

// kUnsupported: store_too_new if it was written by a newer Cay, store_too_old if by one too long
// ago.
Result<std::int64_t> check_version(Database& db);

// Brings the database to `to`, each step a transaction. Fails as check_version.
Result<void> migrate(Database& db, int to = schema_version());

}  // namespace cay::store
