// The app starts the gate as a user of its own, and keeps one alive beside a daemon. The gate holds
// its settings and the directory DATA/gate, and nothing else. It reads DATA/rules.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "gate/gate.h"
#include "role.h"

namespace cay::app {

// The daemon's group may read its lock, and so what it goes by.
inline constexpr Role kGate{.word = "gate",
                            .directory = "gate",
                            .user = "cay-gate",
                            .uid = 0x70000002 /* beside the daemon's (data_dir.cc) */,
                            .socket = "gate.sock",
                            .lock_mode = 0640,
                            .worker = "cay-gate-w",
                            .watcher = "cay-watch-gate"};

struct GateOptions {
  gate::Settings settings;  // its data directory included
  DaemonUser user;          // who the gate becomes
  gid_t daemon_gid = 0;     // may read what was decided
};

// Returns the gate's user. For a data directory that a launcher or a gate serves it is the owner of
// DATA/gate, else role_user().
Result<DaemonUser> gate_user_of(const std::string& data);

// Returns the identity of a gate: this release and these settings. A gate with another identity is
// replaced (role_watch.h), or reported by `cay doctor` if a unit runs it. It is written to
// DATA/gate/lock: runtime/native/helper_state.h.
std::string gate_identity(const gate::Settings& settings);

// Replaces this process by the gate: `life` as in gate/gate.h. Returns only an error.
Error become_gate(const GateOptions& options, gate::Life life);

// Keeps a gate alive in the process that become_gate() made. Returns the exit code.
int run_gate_guardian(gate::Life life);

// role_watch.h.
Result<UniqueFd> watch_gate(const GateOptions& options);

}  // namespace cay::app
