// Which rules would have let through what was refused: of the lines of a sandbox's report, for people and for `cay policy try`.
#pragma once
#include "model/network.h"
#include "policy/catalogue.h"

namespace cay::core {

// The rule that would let it through, as policy/rule.h reads it; empty: none would, or none is needed. A name is let through by name; where
// no name was shown that could be, by address.
std::string rule_for(const NetworkDecision& line);

// Fills in `needs` of each line, and `needed`: each once, without what the sandbox's policy lets through by now.
void tell_what_is_needed(NetworkReport& report, const policy::Catalogue& policies);

}  // namespace cay::core
