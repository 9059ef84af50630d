#include "db/migrations.h"

namespace cay::db {

Result<std::int64_t> check_version(Database& db, const Migrations& history) {
  std::int64_t version = 0;
  {
    CAY_TRY(Statement asked, db.prepare_once("PRAGMA user_version"));
    CAY_TRY(const bool row, asked.step());
    if (row) version = asked.number(0);
  }
  if (version > history.newest()) {
    return Error{Code::kUnsupported, "store_too_new",
                 history.file + " was written by a newer Cay (schema " + std::to_string(version) +
                     ", this one knows " + std::to_string(history.newest()) +
                     "): use that version again, or another data directory",
                 0};
  }
  if (version < history.oldest) {
    return Error{Code::kUnsupported, "store_too_old",
                 history.file + " is of schema " + std::to_string(version) +
                     ", and this Cay brings forward from " + std::to_string(history.oldest) +
                     " on: start a release in between on it once, then this one",
                 0};
  }
  return version;
}

Result<void> migrate(Database& db, const Migrations& history, int to) {
  CAY_TRY(const std::int64_t version, check_version(db, history));
  for (std::int64_t at = version; at < to; ++at) {
    CAY_TRY(Transaction step, Transaction::begin(db));
    CAY_CHECK(db.execute(history.steps[static_cast<std::size_t>(at)]));
    CAY_CHECK(db.execute("PRAGMA user_version = " + std::to_string(at + 1)));
    CAY_CHECK(step.commit());
  }
  return {};
}

}  // namespace cay::db
