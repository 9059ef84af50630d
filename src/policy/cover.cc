#include "policy/cover.h"

#include <algorithm>
#include <utility>

namespace cay::policy {
namespace {

// Everything that a list lets through, and nothing else: it has no rule that refuses.
void collect(const RuleSet& rules, const Policy::Named& named, std::vector<const Rule*>& out,
             std::vector<std::shared_ptr<const Policy>>& held) {
  const bool plain =
      rules.otherwise == Action::kDeny && std::ranges::none_of(rules.rules, [](const Rule& rule) {
        return rule.action == Action::kDeny;
      });
  if (!plain) return;  // what is left of it after what it refuses is not looked into
  for (const Rule& rule : rules.rules) {
    if (rule.kind != Rule::Kind::kPolicy) {
      out.push_back(&rule);
      continue;
    }
    const auto inner = named(rule.word);
    if (!inner) continue;
    held.push_back(inner);
    collect(inner->rules(), named, out, held);
  }
}

bool is_within(const Network& inner, const Network& outer) {
  if (inner.address.is_v4() != outer.address.is_v4()) return false;
  return inner.prefix >= outer.prefix && outer.contains(inner.address);
}

// Whether every name (or address) of `inner` is one of `outer`'s.
bool hosts_within(const Rule& inner, const Rule& outer) {
  using Kind = Rule::Kind;
  if (inner.kind == Kind::kNetwork || outer.kind == Kind::kNetwork) {
    return inner.kind == outer.kind && is_within(inner.network, outer.network);
  }
  if (inner.kind == Kind::kName) return outer.matches_name(inner.word);
  if (inner.kind == Kind::kBelow)
    return outer.kind == Kind::kBelow &&
           (inner.word == outer.word || inner.word.ends_with("." + outer.word));
  return outer.kind == Kind::kRegex && inner.word == outer.word;
}

bool covers(const std::vector<const Rule*>& outer, const Rule& inner) {
  return std::ranges::all_of(inner.segments(), [&](const Rule::Segment& segment) {
    return std::ranges::any_of(outer, [&](const Rule* rule) {
      return hosts_within(inner, *rule) &&
             std::ranges::any_of(rule->segments(), [&](const Rule::Segment& own) {
               // If the operator requires no showing, a shown name is enough.
               const bool shown = own.proof == segment.proof || own.proof == Proof::kNone;
               return shown && segment.ports.first >= own.ports.first &&
                      segment.ports.last <= own.ports.last;
             });
    });
  });
}

}  // namespace

Cover::Cover(std::vector<std::shared_ptr<const Policy>> allowed, Policy::Named named)
    : allowed_(std::move(allowed)), named_(std::move(named)) {
  // If everything is allowed, so is every part of it.
  everything_ = std::ranges::any_of(allowed_, [](const auto& policy) {
    return policy->rules().otherwise == Action::kAllow && policy->rules().rules.empty();
  });
  for (const auto& policy : allowed_) collect(policy->rules(), named_, outer_, held_);
}

bool Cover::is_beyond(const Rule& rule) const { return !everything_ && !covers(outer_, rule); }

std::optional<std::string> Cover::beyond(const RuleSet& asked) const {
  if (everything_) return std::nullopt;
  if (asked.otherwise == Action::kAllow) return "default allow";
  for (const Rule& rule : asked.rules) {
    if (rule.action == Action::kDeny) continue;
    if (rule.kind != Rule::Kind::kPolicy) {
      if (is_beyond(rule)) return rule.text();
      continue;
    }
    const auto inner = named_(rule.word);
    if (!inner || std::ranges::find(allowed_, inner) != allowed_.end()) continue;
    if (const auto one = beyond(inner->rules())) return rule.text() + ": " + *one;
  }
  return std::nullopt;
}

}  // namespace cay::policy
