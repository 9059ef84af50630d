// The data directory: made, owned and entered before anything else happens (ARCHITECTURE.md,
// table).
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace cay::app {

struct DaemonUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;  // for messages
};

struct DataDir {
  std::string path;      // absolute, canonical
  std::string instance;  // 12 hex digits
};

// $CAY_DATA, else /var/lib/cay for root, else $XDG_DATA_HOME/cay or ~/.local/share/cay.
std::string default_data_dir();

// Returns the user that the daemon becomes when root starts it: `wanted` (a name, or "root"), or
// the user `cay` if there is one. Otherwise it is a uid of Cay's own range that owns nothing else.
// If root does not start the daemon, the user is the caller.
Result<DaemonUser> daemon_user(const std::string& wanted);

// Returns the owner of an existing data directory, or nullopt if there is none at that path.
std::optional<DaemonUser> owner_of_data_dir(const std::string& path);

// Makes the directory and its run/ with the right owners, and the instance id. Idempotent. Fails
// kPermissionDenied, with a remedy, if `user` could not reach it without privileges. It fails
// likewise if a daemon of another user uses it, because its owner never changes.
Result<DataDir> open_data_dir(const std::string& path, const DaemonUser& user);

// Marks the directory as one that a restore has begun to fill. A killed restore leaves the mark,
// and without it the directory would look like a new one.
Result<void> begin_restore(const std::string& path);
Result<void> end_restore(const std::string& path);
// kConflict (restore_unfinished): nothing may serve it.
Result<void> check_restored(const std::string& path);

// Gives up root for good: groups, gids, uids, capabilities. It does nothing if the caller is
// `user`.
Result<void> become(const DaemonUser& user);

}  // namespace cay::app
