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
  std::string needs{};      // the rule that would let it through; empty: it was let through, or none would
  std::string rule{};       // that decided; empty: none matched, or it was not a rule that decided
  std::uint64_t sent_bytes = 0, received_bytes = 0;  // of those that are open, as of the last second
};

struct NetworkReport {
  std::string policy, rules{};         // that it has
  std::string running_policy, running_rules{};  // that the gate goes by for it now; empty: it does not run, or the gate has not told yet
  bool policy_allowed = true;          // the operator allows what it has; else nothing is reached by it
  bool gate_serves = true;             // false: nothing gets out until it is back
  SandboxNetwork network;
  std::vector<NetworkDecision> items;  // the latest last
  std::uint64_t forgotten = 0;         // lines that made room for newer ones
  std::vector<std::string> needed{};   // rules that would have let through what was refused, without those that its policy has by now
};

// A policy that has a name.
struct PolicyInfo {
  std::string name, about;
  std::string origin;              // preset, changed (a preset, by the operator), operator
  std::vector<std::string> rules;  // policy/rule.h
  std::string otherwise, order;    // allow or deny; deny-wins or first-match
  bool allowed = true;             // by the operator
};
struct PolicyList {
  std::vector<PolicyInfo> items;
  std::string usual;  // what sandboxes get that ask for nothing
};

// What would become of a connection, by a sandbox's policy or by words for one.
struct PolicyQuestion {
  std::string sandbox;  // id or name; empty: `policy` is meant
  std::string policy;
  std::string host;     // a name or an address
  std::uint16_t port = 443;
};
struct PolicyTrial {
  std::string policy, rules;   // that was asked
  bool allowed = false;
  std::string reason;          // why not, as NetworkDecision has it
  std::string rule;            // that decided; empty: none matched
  std::string needs;           // the rule that would let it through
};

}  // namespace cay
