// Starts and stops the launcher (root) that is carried inside this program.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace cay::app {

struct LauncherOptions {
  std::string data;      // absolute
  std::string instance;  // DATA/instance
  uid_t daemon_uid = 0;  // who may connect
  gid_t daemon_gid = 0;
  uid_t gate_uid = 0;         // whom keepers lend sandboxes' sockets
  std::string cgroup_parent;  // empty: the root of each hierarchy
};

// True if something accepts on DATA/run/launcher.sock.
bool launcher_answers(const std::string& data);

// The pid of the launcher that answers there; nullopt if none does, or what answers is not root's.
std::optional<pid_t> launcher_pid(const std::string& data);

// Starts it detached from us (it outlives the daemon), and returns once it answers.
// Needs root. kDeadlineExceeded with its last words if it does not come up in 60 s.
Result<void> start_launcher(const LauncherOptions& options);

// Like start_launcher(). A launcher that a signal has stopped goes on. One that does not greet for
// longer than its guardian needs to replace a worker that hangs is itself replaced.
Result<void> start_or_mend_launcher(const LauncherOptions& options);

// Returns once the launcher that answers there has looked through DATA: what it does not know it
// removes until then. It greets nobody sooner (launcher/worker.cc). launcher_failed with its last
// words if that takes longer than a minute.
Result<void> await_adoption(const std::string& data);

// Ends a running launcher; sandboxes live on. kNotFound if none answers. One that does not end by
// itself in 10 s is killed.
Result<void> stop_launcher(const std::string& data);

// Replaces this process by the launcher (`cay launcher`, under a supervisor). Returns only an
// error.
Result<void> become_launcher(const LauncherOptions& options);

// The same for the process that keeps the cgroup it was started in (launcher/holder.h).
Result<void> become_holder();

}  // namespace cay::app
