#include "gate/egress_state.h"

#include <algorithm>

#include "gate/handover.h"

namespace cay::gate {

EgressState::EgressState(GateContext& gate, const std::string& sandbox_id,
                         EgressPolicy policy_of_now)
    : context(gate),
      id(sandbox_id),
      policy(std::move(policy_of_now)),
      journal(gate, sandbox_id, policy.choice()),
      inspections(gate.loop, gate.sandboxes) {}

bool EgressState::is_past_a_fence(const Facts& facts, const std::string& shown) const {
  if (context.handover == nullptr) return false;
  const auto is_fenced = [&](const std::string& name) {
    return context.handover->fenced_off(id, name, facts.to.port);
  };
  const std::string& named = facts.shown ? *facts.shown : shown;
  // A server may take an address in the place of a name for any of its names.
  if (!named.empty() && !policy::looks_like_an_address(named)) return is_fenced(named);
  return std::ranges::any_of(facts.names, is_fenced) ||
         std::ranges::any_of(ruled_names_of(facts.to.address), is_fenced);
}

}  // namespace cay::gate
