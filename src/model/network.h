// NetworkDecision and NetworkReport: the connections that a sandbox tried to make, and their
// verdicts (docs/decisions/0015-the-way-out.md).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/sandbox.h"

namespace cay {

// Connections, or lookups of a name, of the same kind, counted together.
struct NetworkDecision {
  std::string host;        // the name meant, or an address without one
  std::string address;     // dialled last, or refused; empty: none was meant
  std::uint16_t port = 0;  // 0: a lookup of the name alone
  bool allowed = false;
  std::string reason;  // why it was refused; of an allowed one, why it failed all the same
  std::uint64_t count = 0;
  UnixMillis first_at = 0, last_at = 0;
  std::string needs{};  // the rule that would let it through, as it can be added; empty: it was let
                        // through, or none would
  std::string rule{};   // that decided; empty: none matched, or it was not a rule that decided
  std::uint64_t sent_bytes = 0,
                received_bytes = 0;  // of those that are open, as of the last second
  // A refused one without `needs` has its obstacle here: own_address, never_reached,
  // special_address, metadata_address, proxy_rule, denied_by_rule, operator, limit or no_rule. The
  // advice is what to do instead.
  std::string in_the_way{}, advice{};
  std::string preset{};  // a policy of Cay's own that has it, which can be added instead of
                         // `needs`; empty: none has
};

struct NetworkReport {
  std::string policy, rules{};                  // that it has
  std::string running_policy, running_rules{};  // that the gate goes by for it now; empty: it does
                                                // not run, or the gate has not reported
  bool policy_allowed = true;  // the operator allows what it has; else nothing is reached by it
  bool gate_serves = true;     // false: nothing gets out until it is back
  SandboxNetwork network;
  std::vector<NetworkDecision> items;  // the latest last
  std::uint64_t forgotten = 0;         // lines that made room for newer ones
  std::uint64_t sent_bytes = 0,
                received_bytes = 0;  // since the sandbox was made, by what is forgotten, too
  bool takes_hosts =
      false;  // its policy has `packages`, which network.hosts of the daemon's settings adds to
  std::vector<std::string> needed{};  // rules that would have let through what was refused, without
                                      // those that its policy has by now
};

// One decision, as the gate's log of a sandbox has it.
struct Decided {
  std::uint64_t number = 0;  // grows; 1 is the sandbox's first
  UnixMillis at = 0;
  std::string kind;    // connection, lookup, request (with a secret), restart (of the gate: what it
                       // decided last before may be missing)
  std::string result;  // allowed, refused, failed; of a restart: empty
  std::string host, address;
  std::uint16_t port = 0;
  std::string reason, rule;  // as NetworkDecision has them
};

// A destination that no rule decides. It waits for an answer (decision 0064).
struct NetworkQuestion {
  std::string id;
  std::string host;  // a name, or an address
  std::uint16_t port = 0;
  UnixMillis asked_at = 0, expires_at = 0;  // refused then
  std::uint64_t waiting = 0;                // connections that are held for it
};
struct NetworkAnswer {
  std::string question;  // its id
  bool allowed = false;
  bool always = false;  // by a rule of the sandbox's policy from now on; else once
};

struct DecidedQuery {
  std::uint64_t after = 0;   // decisions with a larger number
  bool from_oldest = false;  // instead of `after`: from the oldest that is kept
  bool from_now = false;     // instead of `after`: those to come
  std::uint32_t limit = 100;
  std::uint64_t seen = 0;  // DecidedPage::mark of an earlier look: while nothing was written since,
                           // the page is empty
};

struct DecidedPage {
  std::vector<Decided> items;
  std::uint64_t next_after = 0;  // where to go on
  std::uint64_t oldest = 0;      // the first number that is kept; 0: none is
  std::uint64_t last = 0;        // the newest there is
  std::uint64_t missed =
      0;                   // so many, before `items`, are no longer kept, or were too many at once
  std::uint64_t mark = 0;  // of what was written so far; never 0
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
  std::string usual;  // of sandboxes that name none
};

// A question for the verdict on a connection, by a sandbox's policy or by words for one.
struct PolicyQuestion {
  std::string sandbox;  // id or name; empty: `policy` is meant
  std::string policy;
  std::string host;          // a name or an address
  std::uint16_t port = 443;  // 0: a lookup of the name alone
  std::string path{};        // of a request; empty: none is meant
};
struct PolicyTrial {
  std::string policy, rules;  // that the verdict goes by
  bool allowed = false;
  std::string reason;              // why not, as NetworkDecision has it
  std::string rule;                // that decided; empty: none matched
  std::string needs;               // the rule that would let it through, as it can be added
  std::string in_the_way, advice;  // as NetworkDecision has them
  std::string proxy_rule{};        // by which it goes, or which refuse it: names
  std::string note{};              // what else is to be known of the verdict
  std::string preset{};            // as NetworkDecision has it
};

}  // namespace cay
