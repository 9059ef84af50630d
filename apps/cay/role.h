// Role: a helper of the daemon's that is a process of its own, the gate or the broker. It runs as a user of its own where root can give it
// one, and has a directory of the data directory, where it holds a lock that tells its pid and what it goes by.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "data_dir.h"

namespace cay::app {

struct Role {
  const char* word;       // what messages call it, and its command: `cay gate`
  const char* directory;  // DATA/gate
  const char* user;       // who it runs as where there is such a user; its process is called that too
  uid_t uid;              // ... and where there is none
  const char* socket;     // in its directory: who is connected there needs it
  mode_t lock_mode;
  const char* worker;   // what the part of it that serves is called
  const char* watcher;  // what sees to it that it is there
};

// Who it becomes: `wanted`, else its user if there is one, else its uid; of a daemon that root does not start, who we are.
Result<DaemonUser> role_user(const Role& role, const std::string& wanted);

// Who its directory belongs to already; nullopt: nobody of its own, or we are not root.
std::optional<DaemonUser> role_owner(const Role& role, const std::string& data);

// Whether it is ours to start: it is not where another user's directory is there (its own unit starts it then).
bool role_is_ours(const Role& role, const std::string& data, const DaemonUser& user);

// The pid of the one that serves this data directory; nullopt: none runs.
std::optional<pid_t> role_pid(const Role& role, const std::string& data);

// What it goes by: what it told (tell_identity) when it began; empty: not for us to read.
std::string role_identity(const Role& role, const std::string& data);

// A connection that tells it that it is needed, for as long as it is open. Fails if none answers.
Result<UniqueFd> hold_role(const Role& role, const std::string& data);

// Ends it and waits for that; what is open through it is reset. None runs: success.
Result<void> stop_role(const Role& role, const std::string& data);

// Its lock, taken by itself in its directory, which is open as kRoleDirectory (role_process.h). Not valid: another has it.
UniqueFd lock_role(const Role& role);
// Where it cannot be written, the next `cay serve` takes this one for another and replaces it: no harm but to what is open.
void tell_identity(const UniqueFd& lock, const std::string& identity);

}  // namespace cay::app
