// The data directory: made, owned and entered before anything else happens (ARCHITECTURE.md, table).
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

// Who the daemon becomes when root starts it: `wanted` (a name, or "root"), else the user `cay` if
// there is one, else a uid of Cay's own range that owns nothing else. Not root: who we are.
Result<DaemonUser> daemon_user(const std::string& wanted);

// Whose daemon an existing data directory belongs to; nullopt if there is none at that path.
std::optional<DaemonUser> owner_of_data_dir(const std::string& path);

// Makes the directory and its run/ with the right owners, and the instance id. Idempotent.
// kPermissionDenied, with a remedy, if `user` could not reach it once privileges are dropped, and if it is in use by a daemon
// of another user: its owner never changes.
Result<DataDir> open_data_dir(const std::string& path, const DaemonUser& user);

// Gives up root for good: groups, gids, uids, capabilities. No-op if we are `user` already.
// A restore that was killed leaves a directory that looks like a new one: until it is whole a file says so.
Result<void> begin_restore(const std::string& path);
Result<void> end_restore(const std::string& path);
// kConflict (restore_unfinished): nothing may serve it.
Result<void> check_restored(const std::string& path);

Result<void> become(const DaemonUser& user);

}  // namespace cay::app
