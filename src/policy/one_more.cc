#include "policy/one_more.h"

#include <algorithm>
#include <utility>

namespace cay::policy {

OneMore::OneMore(const Catalogue& policies, const Choice& choice) : policies_(policies) {
  auto rules = read(choice);
  if (rules) {
    readable_ = policies.check_there(*rules);
  } else {
    readable_ = std::move(rules).error();
    rules = RuleSet{};
  }
  policy_ = std::make_shared<const Policy>(*std::move(rules), policies.named());
  extent_ = extent_of(policy_->rules());
  const auto& allowed = policies.allowed();
  if (allowed.empty() || std::ranges::find(allowed, kOwnRules) != allowed.end()) return;
  cover_.emplace(policies.cover());
  beyond_ = cover_->beyond(policy_->rules()).has_value();
}

// A policy that has a name stands for what it lets through: beside it there is room for a rule.
Result<RuleSet> OneMore::read(const Choice& choice) const {
  if (choice.policy == kOwnRules) return policies_.rules_of(choice);
  RuleSet out;
  if (choice.policy == "open") {
    out.otherwise = Action::kAllow;
  } else if (choice.policy != "off") {
    CAY_TRY(Rule named, parse_rule("@" + choice.policy));
    out.rules.push_back(std::move(named));
  }
  return out;
}

Result<void> OneMore::takes(const Rule& rule) const {
  CAY_CHECK(readable_);
  Extent with = extent_;
  with.add(rule, rule.text().size());
  return with.check();
}

bool OneMore::is_allowed(const Rule& rule) const {
  return !cover_ || (!beyond_ && !cover_->is_beyond(rule));
}

}  // namespace cay::policy
