#include "policy/policy.h"

#include <algorithm>
#include <utility>

namespace cay::policy {

struct Policy::Match {
  enum class Is : std::uint8_t { kNo, kYes, kMaybe };
  Is is = Is::kNo;
  Proof proof = Proof::kNone;  // kMaybe
  std::string inner{};         // kYes, of a policy: its rule
  bool by_address = false;     // kYes: a rule that is this address's alone
};

Policy::Policy(RuleSet rules, const Named& named) : rules_(std::move(rules)) {
  const auto add = [&](const Rule& rule) {
    entries_.push_back({&rule, rule.kind == Rule::Kind::kPolicy ? named(rule.word) : nullptr});
    const Entry& made = entries_.back();
    programs_ += made.named ? made.named->programs_ : rule.program();
  };
  const bool in_order = rules_.order == Order::kFirstMatch;
  for (const Rule& rule : rules_.rules) {
    if (in_order || rule.action == Action::kDeny) add(rule);
  }
  for (const Rule& rule : rules_.rules) {
    if (!in_order && rule.action == Action::kAllow) add(rule);
  }
}

std::string Policy::told(const Entry& entry, const std::string& inner) {
  return inner.empty() ? entry.rule->text() : entry.rule->text() + ": " + inner;
}

Policy::Match Policy::match(const Entry& entry, const ConnectionFacts& facts) const {
  using Is = Match::Is;
  const Rule& rule = *entry.rule;
  if (rule.kind == Rule::Kind::kPolicy) {
    if (!entry.named) return {};
    Verdict inner = entry.named->decide(facts);
    if (inner.says == Verdict::Says::kShow) return {Is::kMaybe, inner.proof};
    return {inner.allowed() ? Is::kYes : Is::kNo, Proof::kNone, std::move(inner.rule),
            inner.by_address};
  }
  if (!rule.has(facts.port)) return {};
  if (rule.kind == Rule::Kind::kNetwork)
    return {facts.address && rule.network.contains(*facts.address) ? Is::kYes : Is::kNo,
            Proof::kNone,
            {},
            rule.network.is_one_address()};
  const Proof proof = rule.proof_at(facts.port);
  if (proof == Proof::kNone) {
    const bool one = std::ranges::any_of(
        facts.names, [&](const std::string& name) { return rule.matches_name(name); });
    if (!one && facts.may_show) return {Is::kMaybe, proof};
    return {one ? Is::kYes : Is::kNo};
  }
  if (!facts.shown) return {Is::kMaybe, proof};
  return {rule.matches_name(*facts.shown) ? Is::kYes : Is::kNo};
}

// From the last rule to the first: a rule that may match leaves the verdict open, unless the rules
// behind it have the same verdict.
Verdict Policy::decide(const ConnectionFacts& facts, const Rule* more) const {
  using Says = Verdict::Says;
  const auto says = [](Action action) { return action == Action::kAllow ? Says::kYes : Says::kNo; };
  Verdict out{says(rules_.otherwise), Proof::kNone, {}};
  const Entry* by = nullptr;
  std::string inner;
  const auto look = [&](const Entry& entry) {
    Match found = match(entry, facts);
    if (found.is == Match::Is::kNo) return;
    if (found.is == Match::Is::kYes) {
      out = {says(entry.rule->action), Proof::kNone, {}, found.by_address};
      by = &entry;
      inner = std::move(found.inner);
      return;
    }
    if (out.says == says(entry.rule->action)) return;
    out = {
        Says::kShow, out.says == Says::kShow ? std::max(out.proof, found.proof) : found.proof, {}};
    by = nullptr;
  };
  const Entry one_more{more, nullptr};
  const bool in_order = rules_.order == Order::kFirstMatch;
  if (more != nullptr && !in_order) look(one_more);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) look(*entry);
  if (more != nullptr && in_order) look(one_more);
  if (by != nullptr) out.rule = told(*by, inner);
  return out;
}

Verdict Policy::may_resolve(std::string_view name, const Rule* more) const {
  using Says = Verdict::Says;
  const auto by_one_more = [&] { return more != nullptr && more->matches_name(name); };
  if (rules_.order == Order::kFirstMatch && by_one_more())
    return {Says::kYes, Proof::kNone, more->text()};
  for (const Entry& entry : entries_) {
    const Rule& rule = *entry.rule;
    const bool allows = rule.action == Action::kAllow;
    if (rule.kind == Rule::Kind::kPolicy) {
      if (!entry.named) continue;
      Verdict inner = entry.named->may_resolve(name);
      // A host that a named policy lets through at one port alone is not refused as a whole.
      if (!inner.allowed()) continue;
      if (allows) return {Says::kYes, Proof::kNone, told(entry, inner.rule)};
      if (entry.named->rules_.rules.empty())
        return {Says::kNo, Proof::kNone, told(entry, inner.rule)};
      continue;
    }
    if (rule.kind == Rule::Kind::kNetwork) {
      // A policy that refuses every address does not want lookups to go out. "No IPv6" is another
      // thing: refuses_v6().
      if (rule.network.prefix == 0 && rule.network.address.is_v4() && rule.has_every_port() &&
          !allows)
        return {Says::kNo, Proof::kNone, rule.text()};
      continue;
    }
    if (!rule.matches_name(name)) continue;
    if (allows) return {Says::kYes, Proof::kNone, rule.text()};
    if (rule.has_every_port()) return {Says::kNo, Proof::kNone, rule.text()};
  }
  if (rules_.order != Order::kFirstMatch && by_one_more())
    return {Says::kYes, Proof::kNone, more->text()};
  return {rules_.otherwise == Action::kAllow ? Says::kYes : Says::kNo, Proof::kNone, {}};
}

std::vector<Network> Policy::networks(std::size_t most) const {
  std::vector<Network> out;
  const auto add = [&](const Network& one) {
    if (out.size() < most && std::ranges::find(out, one) == out.end()) out.push_back(one);
  };
  for (const Entry& entry : entries_) {
    if (entry.rule->kind == Rule::Kind::kNetwork) add(entry.rule->network);
    if (entry.named) std::ranges::for_each(entry.named->networks(most), add);
  }
  return out;
}

std::string Policy::refuses_v6() const {
  for (const Entry& entry : entries_) {
    const Rule& rule = *entry.rule;
    const bool is_all = rule.kind == Rule::Kind::kNetwork && rule.network.prefix == 0 &&
                        !rule.network.address.is_v4() && rule.has_every_port();
    if (is_all && rule.action == Action::kDeny) return rule.text();
    if (rule.action == Action::kAllow) break;
  }
  return "";
}

}  // namespace cay::policy
