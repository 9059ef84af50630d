// The gate's process: who it runs as, how it is started, and that a daemon has one. It holds nothing but its settings and the directory
// DATA/gate, and reads DATA/rules.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "gate/gate.h"
#include "role.h"

namespace cay::app {

// The daemon's group may read its lock, and so what it goes by.
inline constexpr Role kGate{.word = "gate", .directory = "gate", .user = "cay-gate", .uid = 0x70000002 /* beside the daemon's (data_dir.cc) */,
                            .socket = "gate.sock", .lock_mode = 0640, .worker = "cay-gate-w", .watcher = "cay-watch-gate"};

struct GateOptions {
  gate::Settings settings;  // its data directory included
  DaemonUser user;          // who the gate becomes
  gid_t daemon_gid = 0;     // may read what was decided
};

// Who the gate of a data directory in use becomes: where a launcher serves it or a gate does, that is who DATA/gate belongs to; else as
// role_user().
Result<DaemonUser> gate_user_of(const std::string& data);

// What a gate goes by: this release, and these settings. One that goes by something else is replaced (role_watch.h), or told of by
// `cay doctor` where a unit runs it. It stands in DATA/gate/lock: runtime/native/helper_state.h.
std::string gate_identity(const gate::Settings& settings);

// Replaces this process by the gate: `life` as in gate/gate.h. Returns only an error.
Error become_gate(const GateOptions& options, gate::Life life);

// What become_gate() becomes: keeps one that serves alive. The exit code.
int run_gate_guardian(gate::Life life);

// role_watch.h.
Result<UniqueFd> watch_gate(const GateOptions& options);

}  // namespace cay::app
