// DATA/gate and DATA/rules: the gate's own directory, in which keepers' sockets, its lock and what
// it decided lie.
#pragma once
#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

// Opens the directory, and makes it if it is not there. If it belongs to another user than `uid`
// (the gate's user was changed) and we are root, `uid` becomes its owner, and the former gate's
// decisions may be forgotten. Its group, the daemon's, reads. Fails permission_denied without root.
Result<UniqueFd> open_gate_directory(int data, uid_t uid, gid_t daemon_gid);

// DATA/rules, in which the daemon keeps what sandboxes may reach: its user's, who owns DATA, and
// `gate_gid` reads. Made if it is not there; given to another gate's group by root alone.
Result<UniqueFd> open_rules_directory(int data, gid_t gate_gid);

}  // namespace cay::launcher
