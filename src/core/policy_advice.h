// Finds the rules that would have allowed what was refused, in the form that users write. If there
// is none, it names the obstacle. For the lines of a sandbox's report and for `cay policy try`.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "base/ip_address.h"
#include "core/proxied_hosts.h"
#include "model/network.h"
#include "policy/catalogue.h"

namespace cay::core {

// The surroundings that a rule has to fit into.
struct Around {
  const policy::Catalogue& policies;
  std::span<const Network> networks{};  // special ranges that the operator opens
  std::span<const ProxiedHost> proxied{};
  std::function<bool(const IpAddress&)>
      is_own{};  // an address of this host, which only its own line among `networks` opens; may be
                 // asked on any thread

  bool is_own_address(const IpAddress& address) const;
  // Whether the gate dials it, as far as its kind goes.
  bool reaches(const IpAddress& address) const;
};

// Returns the rule that allows exactly what was refused, as policy/rule.h reads it. Empty: there is
// none, or none is needed. A name is allowed by name. If no usable name was shown, by address.
std::string rule_for(const NetworkDecision& line);

// Fills in `needs` of a refused line, or else `in_the_way` and `advice`: `needs` alone, added to
// `choice`, lets it through and is allowed. `preset`: the smallest of Cay's policies that does so,
// too.
void advise(NetworkDecision& line, const policy::Choice& choice, const Around& around);

// The same of each line, but for what the sandbox's policy lets through by now; and `needed`: each
// rule once. `takes_hosts`, too.
void advise_report(NetworkReport& report, const Around& around);

}  // namespace cay::core
