// The schema's history. A version is for ever: add one, never change one.
#pragma once
#include "store/sqlite.h"

namespace cay::store {

// The version this program writes.
int schema_version();

// Brings the database to schema_version(), each step a transaction. kUnsupported (store_too_new)
// if it was written by a newer Cay.
Result<void> migrate(Database& db);

}  // namespace cay::store
