#include "policy/rule_set.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"

namespace cay::policy {
namespace {

Error bad(const std::string& what) {
  return Error{Code::kInvalidArgument, "invalid_policy", what, 0};
}

constexpr std::string_view kBlanks = " \t\r";

// The first rule of a line of them.
std::string_view first_of(std::string_view line) {
  std::string_view item = trimmed(line, kBlanks);
  for (const std::string_view word : {"!", "allow ", "deny "}) {
    if (item.starts_with(word)) item = trimmed(item.substr(word.size()), kBlanks);
  }
  if (!item.starts_with('~')) return line.substr(0, line.find(','));
  const auto behind = static_cast<std::size_t>(item.data() - line.data()) + 1;
  return line.substr(0, behind + expression_end(line.substr(behind)));
}

// Takes a line from the beginning of `text`, without its comment: # where a line or a blank is
// before it.
std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

// Puts rules into a set one by one, within its bounds.
class Maker {
 public:
  Result<void> add(std::string_view item) {
    item = trimmed(item, kBlanks);
    if (item.empty() || item.starts_with('#')) return {};
    if (item == "default allow" || item == "@open" || item == "open")
      return set_default(Default::kAllow);
    if (item == "default deny") return set_default(Default::kDeny);
    if (item == "default ask" || item == "@ask" || item == "ask") return set_default(Default::kAsk);
    if (item == "first-match") return set_order(Order::kFirstMatch);
    if (item == "deny-wins") return set_order(Order::kDenyWins);
    if (item == "off" || item == "@off") {
      off_ = true;
      return {};
    }
    if (item.starts_with("allow ")) item = trimmed(item.substr(6), kBlanks);
    std::string denied;
    if (item.starts_with("deny "))
      item = denied = "!" + std::string(trimmed(item.substr(5), kBlanks));
    CAY_TRY(Rule rule, parse_rule(item));
    if (rule.kind == Rule::Kind::kPolicy && (rule.word == "open" || rule.word == "off")) {
      return bad(
          "'" + rule.text() +
          "' is no rule: to refuse everything but some, name those; to allow everything but some, "
          "write open and those with ! before them");
    }
    const std::string text = rule.text();
    extent_.add(rule, text.size());
    CAY_CHECK(extent_.check());
    // Twice the same is once: in either order the first of them counts.
    const bool there = std::ranges::any_of(set_.rules, [&](const Rule& one) {
      return one.kind == rule.kind && one.word == rule.word && one.text() == text;
    });
    if (!there) set_.rules.push_back(std::move(rule));
    extent_.rules = set_.rules.size();
    return {};
  }

  Result<RuleSet> done() {
    if (off_ && (!set_.rules.empty() || default_))
      return bad("'off' stands alone: nothing is reached by it");
    if (ordered_ && set_.rules.empty() && !default_ && !off_)
      return bad("an order alone lets nothing through: write rules behind it, or off");
    if (set_.lets_nothing_through())
      set_.order = RuleSet().order;  // of nothing: else it would be written as an order alone
    return std::move(set_);
  }

 private:
  enum class Default : std::uint8_t { kAllow, kDeny, kAsk };
  Result<void> set_default(Default what) {
    if (default_ && *default_ != what)
      return bad("two defaults (default allow or open, default deny, default ask) in one policy");
    default_ = what;
    set_.otherwise = what == Default::kAllow ? Action::kAllow : Action::kDeny;
    set_.asks = what == Default::kAsk;
    return {};
  }
  Result<void> set_order(Order order) {
    if (ordered_ && set_.order != order) return bad("first-match and deny-wins in one policy");
    ordered_ = true;
    set_.order = order;
    return {};
  }

  RuleSet set_;
  Extent extent_;
  std::optional<Default> default_;
  bool ordered_ = false, off_ = false;
};

}  // namespace

std::string_view word_for(Action action) { return action == Action::kAllow ? "allow" : "deny"; }
std::string_view word_for(Order order) {
  return order == Order::kFirstMatch ? "first-match" : "deny-wins";
}

std::string_view word_for_default(const RuleSet& set) {
  return set.asks ? "ask" : word_for(set.otherwise);
}

std::string RuleSet::text() const {
  std::string out;
  if (otherwise == Action::kAllow) out += "default allow\n";
  if (asks) out += "default ask\n";
  if (order == Order::kFirstMatch) out += "first-match\n";
  for (const Rule& rule : rules) out += rule.text() + "\n";
  if (!out.empty()) out.pop_back();
  return out;
}

void Extent::add(const Rule& rule, std::size_t text_size) {
  ++rules;
  if (rule.kind == Rule::Kind::kRegex) ++regexes;
  programs += rule.program();
  text += text_size + 1;
}

Result<void> Extent::check() const {
  if (regexes > kMostRegexes) return bad("more than 32 regular expressions in a policy");
  if (rules > kMostRules)
    return bad(
        "more than 256 rules in a policy: *. rules, networks and policies of the operator's cover "
        "more");
  if (programs > kMostPrograms)
    return bad("the regular expressions of the policy are too large together: " +
               std::string(kSmaller));
  if (text > kMostText) return bad("more than 32 KiB of rules in a policy");
  return {};
}

Extent extent_of(const RuleSet& set) {
  Extent out;
  for (const Rule& rule : set.rules) out.add(rule, rule.text().size());
  return out;
}

bool says_nothing(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.find_first_not_of(", \t\r") != std::string_view::npos) return false;
  }
  return true;
}

Result<RuleSet> parse_rules(std::string_view text) {
  constexpr std::size_t kMostWritten = 2 * kMostText;
  if (text.size() > kMostWritten) return bad("more than 32 KiB of rules in a policy");
  Maker maker;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    while (!line.empty()) {
      const std::string_view item = first_of(line);
      line.remove_prefix(std::min(line.size(), item.size() + 1));
      CAY_CHECK(maker.add(item));
    }
  }
  return maker.done();
}

Result<RuleSet> parse_rules(const std::vector<std::string>& lines) {
  Maker maker;
  for (const std::string& line : lines) {
    if (line.find('\n') != std::string::npos) return bad("a rule is one line");
    CAY_CHECK(maker.add(line));
  }
  return maker.done();
}

}  // namespace cay::policy
