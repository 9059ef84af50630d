// The gate's process: started, watched over and ended. It runs as a user of its own where root can give it one, and holds
// nothing but its settings and the directory DATA/gate.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "data_dir.h"
#include "gate/gate.h"

namespace cay::app {

struct GateOptions {
  gate::Settings settings;  // its data directory included
  DaemonUser user;          // who the gate becomes
  gid_t daemon_gid = 0;     // may read what was decided
};

// Who the gate becomes: `wanted`, else the user `cay-gate` if there is one, else a uid of Cay's own range; of a daemon that
// root does not start, who we are.
Result<DaemonUser> gate_user(const std::string& wanted);

// The same for the gate of a data directory that is in use: where a launcher serves it or a gate does, that is who DATA/gate
// belongs to.
Result<DaemonUser> gate_user_of(const std::string& data);

// A connection that tells the gate that it is needed, for as long as it is open. Fails if none answers.
Result<UniqueFd> hold_gate(const std::string& data);

// What a gate goes by: this release, and these settings. One that goes by something else is replaced (gate_watch.h), or told of by
// `cay doctor` where a unit runs it. It stands in DATA/gate/lock: runtime/native/gate_state.h.
std::string gate_identity(const gate::Settings& settings);

// The pid of the gate of this data directory (it starts another that serves when that one dies); nullopt: none runs.
std::optional<pid_t> gate_pid(const std::string& data);

// Replaces this process by the gate: `life` as in gate/gate.h. Returns only an error.
Error become_gate(const GateOptions& options, gate::Life life);

// Starts it detached from us, and does not wait.
Result<void> start_gate(const GateOptions& options);

// Ends it; what is open through it is reset. No gate: success.
Result<void> stop_gate(const std::string& data);

// What become_gate() becomes: keeps one that serves alive. The exit code.
int run_gate_guardian(gate::Life life);

}  // namespace cay::app
