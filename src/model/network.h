// What a sandbox tried to reach, and what became of it (docs/decisions/0015-the-way-out.md).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/sandbox.h"

namespace cay {

// Connections, or lookups of a name, of the same kind, counted together.
struct NetworkDecision {
  std::string host;         // the name meant, or an address that no name was asked for
  std::string address;      // dialled last, or refused; empty: none was meant
  std::uint16_t port = 0;   // 0: the name alone was asked for
  bool allowed = false;
  std::string reason;       // why it was refused; of an allowed one, why it failed all the same
  std::uint64_t count = 0;
  UnixMillis first_at = 0, last_at = 0;
  std::uint64_t sent_bytes = 0, received_bytes = 0;  // of those that are open, as of the last second
};

struct NetworkReport {
  std::string policy;                  // that it has, from its next start
  std::string running_policy;          // that the gate goes by for it now; empty: it does not run, or the gate has not told yet
  bool policy_allowed = true;          // the operator allows what it has; else nothing is reached by it
  bool gate_serves = true;             // false: nothing gets out until it is back
  SandboxNetwork network;
  std::vector<NetworkDecision> items;  // the latest last
  std::uint64_t forgotten = 0;         // lines that made room for newer ones
};

}  // namespace cay
