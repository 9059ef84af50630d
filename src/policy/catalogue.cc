#include "policy/catalogue.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "policy/presets.h"

namespace cay::policy {
namespace {

using Origin = NamedPolicy::Origin;

constexpr std::size_t kMostPolicies = 128;
constexpr std::array<std::string_view, 7> kReserved = {"off",     "open",  "ask", kOwnRules,
                                                       "default", "allow", "deny"};

Error bad(const std::string& what) {
  return Error{Code::kInvalidArgument, "invalid_policy", what, 0};
}

Result<void> check_programs(const Policy& policy, const std::string& which) {
  if (policy.programs() <= kMostPrograms) return {};
  return bad(
      which +
      ": its regular expressions and those of the policies that it names are too large together: " +
      std::string(kSmaller));
}

struct Raw {
  std::string name, about;
  Origin origin = Origin::kPreset;
  RuleSet rules;
};

std::vector<Raw> raw_presets() {
  std::vector<Raw> out;
  for (const Preset& preset : presets()) {
    auto rules = parse_rules(preset.rules);
    out.push_back({std::string(preset.name), std::string(preset.about), Origin::kPreset,
                   rules ? *std::move(rules) : RuleSet{}});
  }
  return out;
}

Result<void> define(std::vector<Raw>& raws, const Definition& given) {
  if (!is_policy_name(given.name))
    return bad("'" + given.name.substr(0, kLongestPolicyName) +
               "' is no name for a policy: [a-z][a-z0-9-]*, 40 at most");
  if (std::ranges::find(kReserved, given.name) != kReserved.end())
    return bad("'" + given.name + "' has a meaning of its own: call the policy otherwise");
  const auto there = std::ranges::find(raws, given.name, &Raw::name);
  if (there == raws.end()) {
    if (given.adds)
      return bad("there is no policy '" + given.name +
                 "' that rules could be added to: with rules in place of add it is a new one");
    if (raws.size() >= kMostPolicies) return bad("more than 128 policies");
    raws.push_back({given.name, given.about, Origin::kOperator, given.rules});
    return {};
  }
  if (there->origin == Origin::kPreset) there->origin = Origin::kChanged;
  if (!given.about.empty()) there->about = given.about;
  if (!given.adds) {
    there->rules = given.rules;
    return {};
  }
  const bool has_default = given.rules.otherwise == Action::kAllow || given.rules.asks;
  if (has_default || given.rules.order != Order::kDenyWins)
    return bad("policy '" + given.name + "': what is added are rules alone");
  for (const Rule& rule : given.rules.rules) {
    if (there->rules.rules.size() >= kMostRules)
      return bad("policy '" + given.name + "': more than 256 rules");
    if (std::ranges::find(there->rules.rules, rule.text(), &Rule::text) == there->rules.rules.end())
      there->rules.rules.push_back(rule);
  }
  return {};
}

// Makes each policy after those that it names.
class Builder {
 public:
  explicit Builder(const std::vector<Raw>& raws) : raws_(raws) {}

  Result<std::shared_ptr<const Policy>> build(const Raw& raw) {
    if (const auto made = made_.find(raw.name); made != made_.end()) return made->second;
    if (!open_.insert(raw.name).second)
      return bad("policy '" + raw.name + "' names itself, through " + std::to_string(open_.size()) +
                 " policies");
    for (const Rule& rule : raw.rules.rules) {
      if (rule.kind != Rule::Kind::kPolicy) continue;
      const auto inner = std::ranges::find(raws_, rule.word, &Raw::name);
      if (inner == raws_.end())
        return bad("policy '" + raw.name + "' names a policy '" + rule.word +
                   "', which is not there");
      CAY_CHECK(build(*inner));
    }
    open_.erase(raw.name);
    auto policy = std::make_shared<const Policy>(
        raw.rules, [this](std::string_view name) { return made_.at(std::string(name)); });
    CAY_CHECK(check_programs(*policy, "policy '" + raw.name + "'"));
    return made_[raw.name] = std::move(policy);
  }

 private:
  const std::vector<Raw>& raws_;
  std::map<std::string, std::shared_ptr<const Policy>> made_;
  std::set<std::string> open_;
};

Result<std::vector<NamedPolicy>> built(const std::vector<Raw>& raws) {
  Builder builder(raws);
  std::vector<NamedPolicy> out;
  for (const Raw& raw : raws) {
    CAY_TRY(auto policy, builder.build(raw));
    out.push_back({raw.name, raw.about, raw.origin, std::move(policy)});
  }
  return out;
}

}  // namespace

Catalogue::Catalogue() {
  auto made = built(raw_presets());
  if (made) all_ = *std::move(made);
}

Result<Catalogue> Catalogue::make(const std::vector<Definition>& definitions,
                                  std::vector<std::string> allowed) {
  std::vector<Raw> raws = raw_presets();
  for (const Definition& one : definitions) {
    CAY_CHECK(define(raws, one));
  }
  Catalogue out;
  CAY_TRY(out.all_, built(raws));
  out.allowed_ = std::move(allowed);
  return out;
}

const NamedPolicy* Catalogue::find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &NamedPolicy::name);
  return found == all_.end() ? nullptr : &*found;
}

Policy::Named Catalogue::named() const {
  return [this](std::string_view name) -> std::shared_ptr<const Policy> {
    const NamedPolicy* found = find(name);
    return found == nullptr ? nullptr : found->policy;
  };
}

Result<Choice> Catalogue::choose(std::string_view words) const {
  // An empty request may mean everything that it does not name, so it has to be explicit.
  if (says_nothing(words))
    return bad(
        "there is no rule: write off to let nothing through, else a policy (`cay policy ls` lists "
        "them) or rules, as example.com");
  CAY_TRY(const RuleSet rules, parse_rules(words));
  return choose(rules);
}

Result<void> Catalogue::check_there(const RuleSet& rules) const {
  for (const Rule& rule : rules.rules) {
    if (rule.kind == Rule::Kind::kPolicy && find(rule.word) == nullptr) {
      return bad("no policy '" + rule.word +
                 "': `cay policy ls` lists them; a host of one word is written with its port, as " +
                 rule.word + ":443");
    }
  }
  return check_programs(Policy(rules, named()), "the policy");
}

Cover Catalogue::cover() const {
  std::vector<std::shared_ptr<const Policy>> allowed;
  for (const std::string& name : allowed_) {
    if (const NamedPolicy* found = find(name)) allowed.push_back(found->policy);
  }
  return {std::move(allowed), named()};
}

Result<Choice> Catalogue::choose(const RuleSet& rules) const {
  CAY_CHECK(check_there(rules));
  if (rules.rules.empty() && !rules.asks)
    return Choice{rules.otherwise == Action::kAllow ? "open" : "off"};
  const bool one = rules.rules.size() == 1 && rules.otherwise == Action::kDeny && !rules.asks;
  if (one && rules.rules.front().kind == Rule::Kind::kPolicy &&
      rules.rules.front().action == Action::kAllow)
    return Choice{rules.rules.front().word};
  return Choice{std::string(kOwnRules), rules.text()};
}

Result<void> Catalogue::check_allowed(const Choice& choice) const {
  if (allowed_.empty() || std::ranges::find(allowed_, choice.policy) != allowed_.end()) return {};
  const auto refused = [](const std::string& what) {
    return Error{Code::kPermissionDenied, "policy_not_allowed",
                 "this host's operator allows no " + what +
                     " (network.policies): `cay policy ls` lists those that are allowed",
                 0};
  };
  if (choice.policy == "off" || choice.policy == "open")
    return refused("policy '" + choice.policy + "'");
  CAY_TRY(const RuleSet asked, rules_of(choice));
  const auto beyond = cover().beyond(asked);
  if (!beyond) return {};
  if (choice.policy != kOwnRules)
    return refused("policy '" + choice.policy + "': it goes beyond what is allowed with " +
                   *beyond);
  return refused("rule '" + *beyond + "'");
}

Result<RuleSet> Catalogue::rules_of(const Choice& choice) const {
  if (choice.policy == kOwnRules) return parse_rules(choice.rules);
  RuleSet out;
  if (find(choice.policy) == nullptr)
    return bad("no policy '" + choice.policy.substr(0, kLongestPolicyName) + "'");
  return find(choice.policy)->policy->rules();
}

std::shared_ptr<const Policy> Catalogue::policy_of(const Choice& choice) const {
  if (choice.policy != kOwnRules) {
    if (const NamedPolicy* found = find(choice.policy)) return found->policy;
    return std::make_shared<const Policy>(RuleSet{}, named());
  }
  auto rules = parse_rules(choice.rules);
  auto out = std::make_shared<const Policy>(rules ? *std::move(rules) : RuleSet{}, named());
  if (out->programs() > kMostPrograms) return std::make_shared<const Policy>(RuleSet{}, named());
  return out;
}

std::vector<std::string> Catalogue::texts() const {
  std::vector<std::string> out;
  for (const NamedPolicy& one : all_) {
    if (one.origin != Origin::kPreset) out.push_back(one.name + "\n" + one.policy->rules().text());
  }
  return out;
}

Result<Catalogue> Catalogue::from_texts(const std::vector<std::string>& texts,
                                        std::vector<std::string> allowed) {
  std::vector<Definition> definitions;
  for (const std::string& text : texts) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    CAY_TRY(RuleSet rules,
            parse_rules(std::string_view(text).substr(std::min(end + 1, text.size()))));
    definitions.push_back(
        {.name = text.substr(0, end), .about = {}, .rules = std::move(rules), .adds = false});
  }
  return make(definitions, std::move(allowed));
}

}  // namespace cay::policy
