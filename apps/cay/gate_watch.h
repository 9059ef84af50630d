// GateWatch: a child of `cay serve` that sees to it that there is a gate, for as long as the daemon lives. It takes no input.
#pragma once
#include "base/result.h"
#include "base/unique_fd.h"
#include "gate_process.h"

namespace cay::app {

// Whether the gate of this data directory is ours to start: it is not where another user's directory DATA/gate is (its own
// unit starts it there).
bool gate_is_ours(const std::string& data, const DaemonUser& user);

// Starts a gate and forks the watcher; call it while this process has one thread. The watcher lives as long as the descriptor.
// Returns once the gate answers, or after 2 s: the watcher goes on trying.
Result<UniqueFd> watch_gate(const GateOptions& options);

}  // namespace cay::app
