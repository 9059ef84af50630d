// Role: a helper of the daemon that is a process of its own: the gate, the broker, or the process
// that fetches images. If root starts it, it runs as a user of its own. It has a directory in the
// data directory and holds a lock there, which contains its pid and its identity.
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
  const char* user;    // who it runs as where there is such a user; its process is called that too
  uid_t uid;           // ... and where there is none
  const char* socket;  // in its directory: who is connected there needs it
  mode_t lock_mode;
  const char* worker;   // what the part of it that serves is called
  const char* watcher;  // what sees to it that it is there
};

// Returns the role's user: `wanted`, else its own user if there is one, else its uid. Without root
// it is the caller.
Result<DaemonUser> role_user(const Role& role, const std::string& wanted);

// Returns the owner of the role's directory, or nullopt if it has none of its own or we are not
// root.
std::optional<DaemonUser> role_owner(const Role& role, const std::string& data);

// Whether it is ours to start: it is not where another user's directory is there (its own unit
// starts it then).
bool role_is_ours(const Role& role, const std::string& data, const DaemonUser& user);

// The pid of the one that serves this data directory; nullopt: none runs.
std::optional<pid_t> role_pid(const Role& role, const std::string& data);

// Returns the identity that it wrote at its start (tell_identity), or "" if we may not read it.
std::string role_identity(const Role& role, const std::string& data);

// Returns a connection by which it knows that it is needed while it is open. Fails if none answers.
Result<UniqueFd> hold_role(const Role& role, const std::string& data);

// Ends it and waits for that; what is open through it is reset. None runs: success.
Result<void> stop_role(const Role& role, const std::string& data);

// Its lock, taken by itself in its directory, which is open as kRoleDirectory (role_process.h). Not
// valid: another has it.
UniqueFd lock_role(const Role& role);
// If it cannot be written, the next `cay serve` replaces this helper, which breaks open
// connections.
void tell_identity(const UniqueFd& lock, const std::string& identity);

}  // namespace cay::app
