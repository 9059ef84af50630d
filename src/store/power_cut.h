// How the store treats a host that goes down under it. A commit does not wait for the disk, so the
// last ones may be missing (docs/decisions/0016-power-cuts.md). These functions report when that
// may have happened, and write changes that must not go missing.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "db/database.h"
#include "store/wal_sync.h"

namespace cay::store {

// How far the numbers of events jump where the host went down under a daemon: none that was given
// is given again.
constexpr std::int64_t kForgottenEventStep = 1'000'000;

// Called at each opening. If the host went down since the last opening without a close_politely(),
// the numbers of events jump.
Result<void> note_opening(db::Database& db, const std::string& boot_id);
// After this call all earlier writes are on the disk once the database is closed.
Result<void> close_politely(db::Database& db);

// `change` is on the disk when this returns: for what may not come back (milliseconds; all before
// it is, too).
Result<void> durably(db::Database& db, const std::function<Result<void>()>& change);

// Syncs the log of the database at `path` within a second of each commit. One that fails counts as
// a failure of the store.
std::unique_ptr<WalSync> keep_synced(db::Database& db, const std::string& directory,
                                     const std::string& path);

}  // namespace cay::store
