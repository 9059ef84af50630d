#include "gate/egress_state.h"

#include <algorithm>

#include "gate/handover.h"
#include "gate/stand_ins.h"

namespace cay::gate {

EgressState::EgressState(GateContext& gate, const std::string& sandbox_id,
                         EgressPolicy policy_of_now)
    : context(gate),
      id(sandbox_id),
      policy(std::move(policy_of_now)),
      questions(gate.loop, gate.directory, sandbox_id, gate.policies, gate.question_limits),
      journal(gate, sandbox_id, policy.choice()),
      inspections(gate.loop, gate.sandboxes) {}

bool EgressState::may_ask_about(const std::string& host) const {
  const bool is_brokers = context.handover != nullptr && context.handover->knows(id, host);
  return !is_brokers && (IpAddress::parse(host) || !policy::looks_like_an_address(host));
}

bool EgressState::policy_decides(const std::string& host, std::uint16_t port) const {
  const auto address = IpAddress::parse(host);
  Facts facts{.names = {}, .shown = host, .to = {address.value_or(asked_stand_in(host)), port}};
  if (!address) facts.names = {host};
  return !policy.asks_after(policy.decide(facts));
}

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
