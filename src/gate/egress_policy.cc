#include "gate/egress_policy.h"

#include <utility>

#include "gate/stand_ins.h"
#include "model/proxy.h"

namespace cay::gate {
namespace {

// Only unreadable() makes this choice: a readable policy of its own rules has rules.
bool is_unreadable(const policy::Choice& choice) {
  return choice.policy == policy::kOwnRules && choice.rules.empty();
}

// Nobody knows the address of a name that was not looked up.
policy::Verdict decide_by(const policy::Policy& rules, const Facts& facts,
                          const std::optional<std::string>& shown) {
  std::optional<IpAddress> address;
  if (!is_asked_stand_in(facts.to.address)) address = facts.to.address;
  return rules.decide(
      {.names = facts.names, .shown = shown, .address = address, .port = facts.to.port});
}

}  // namespace

policy::Choice EgressPolicy::unreadable() { return {std::string(policy::kOwnRules), {}}; }

EgressPolicy::EgressPolicy(policy::Choice choice, const policy::Catalogue& catalogue)
    : choice_(std::move(choice)), rules_(catalogue.policy_of(choice_)) {
  if (is_unreadable(choice_)) {
    reason_ = "policy_unreadable";
  } else if (!catalogue.check_allowed(choice_)) {
    reason_ = "policy_not_allowed";
  }
  opens_proxy_hosts_ = is_allowed() && choice_.policy != "off";
}

policy::Verdict EgressPolicy::decide(const Facts& facts) const {
  if (!is_allowed()) return {};
  const auto decide = [&](const std::optional<std::string>& shown) {
    return decide_by(*rules_, facts, shown);
  };
  auto out = decide(facts.shown);
  if (facts.granted && asks_after(out)) {
    auto granted = decide_by(*facts.granted, facts, facts.shown);
    if (granted.says == policy::Verdict::Says::kNo) return out;
    if (granted.allowed()) granted.rule = "once: " + granted.rule;
    return granted;
  }
  // An address in the place of a required name is none. It would stand for every host there, a
  // refused one too. A rule of the address's own allows it.
  const bool is_no_name = out.allowed() && !out.by_address && facts.shown &&
                          policy::looks_like_an_address(*facts.shown);
  if (is_no_name && decide({}).says == policy::Verdict::Says::kShow) return {};
  return out;
}

const char* EgressPolicy::reason_for(const Facts& facts, const policy::Verdict& verdict) const {
  if (!is_allowed()) return reason_;
  if (!verdict.rule.empty()) return "denied_by_rule";
  for (const std::string& name : facts.names) {
    if (rules_->may_resolve(name).allowed()) return "port_not_in_policy";
  }
  return "not_in_policy";
}

bool EgressPolicy::depends_on_names(const Endpoint& to) const {
  const policy::ConnectionFacts facts{
      .names = {}, .shown = {}, .address = to.address, .port = to.port, .may_show = true};
  return rules_->decide(facts).says == policy::Verdict::Says::kShow;
}

bool EgressPolicy::allows_fenced_host(const std::string& host, std::uint16_t port) const {
  const Facts facts{.names = {host}, .shown = host, .to = {*IpAddress::parse(kBrokerV4), port}};
  return decide(facts).allowed();
}

policy::Verdict EgressPolicy::may_resolve(const std::string& name) const {
  return rules_->may_resolve(name);
}

std::string EgressPolicy::refuses_v6() const { return rules_->refuses_v6(); }

}  // namespace cay::gate
