// Migrations: the history of a database's schema, as SQL that leads from version to version.
//
// PRAGMA user_version holds the version of a file. A step is for ever: add one, never change one.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "db/database.h"

namespace cay::db {

struct Migrations {
  std::span<const char* const> steps;  // step i leads from version i to i + 1; outlives this
  std::string file;                    // as errors name it
  int oldest = 0;                      // the oldest version that is brought forward; 0: a new file
  int newest() const { return static_cast<int>(steps.size()); }
};

// Returns the version of the database. Fails kUnsupported: store_too_new if a newer program wrote
// it, store_too_old if the history does not reach back so far.
Result<std::int64_t> check_version(Database& db, const Migrations& history);

// Brings the database to the version `to`. Each step is a transaction: a step that fails leaves the
// version before it. Fails as check_version.
Result<void> migrate(Database& db, const Migrations& history, int to);

}  // namespace cay::db
