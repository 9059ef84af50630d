// RuleSet: rules, what is done where none matches, and in which order they count. Its text has one
// rule a line:
//
//   default allow        where no rule matches (else: default deny)
//   first-match          the first rule that matches decides (else: deny-wins, a rule that refuses
//   counts before all that allow) pypi.org
//   !*.example.com
//
// With `default ask` somebody answers where no rule matches (decision 0064). Commas separate rules
// as line ends do, unless they are part of a regular expression (rule.h, expression_end). Lines
// that begin with # are comments.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/rule.h"

namespace cay::policy {

enum class Order : std::uint8_t { kDenyWins, kFirstMatch };

struct RuleSet {
  Action otherwise = Action::kDeny;
  // With kDeny: where no rule matches, the gate holds the connection until somebody answers. Code
  // that ignores this refuses.
  bool asks = false;
  Order order = Order::kDenyWins;
  std::vector<Rule> rules;

  // Its one spelling: parse() of it is this set. Empty: nothing is let through.
  std::string text() const;
  bool lets_nothing_through() const { return otherwise == Action::kDeny && !asks && rules.empty(); }
};

inline constexpr std::size_t kMostRules = 256;
inline constexpr std::size_t kMostRegexes = 32;
inline constexpr std::size_t kMostText = 32 * 1024;

// How much a set has; and which of its bounds that is beyond: kInvalidArgument (invalid_policy).
struct Extent {
  std::size_t rules = 0, regexes = 0, programs = 0, text = 0;
  void add(const Rule& rule, std::size_t text_size);
  Result<void> check() const;
};
Extent extent_of(const RuleSet& set);

std::string_view word_for(Action action);  // allow, deny
std::string_view word_for(Order order);    // deny-wins, first-match
// The word for the default: allow, deny or `ask`.
std::string_view word_for_default(const RuleSet& set);

// Whether there is no rule, no default and no order in it.
bool says_nothing(std::string_view text);

// kInvalidArgument (invalid_policy). The words `open` and `off` alone mean those policies; among
// rules `open` is `default allow`, and `ask` is `default ask`.
Result<RuleSet> parse_rules(std::string_view text);
// The same of parts that came one by one; commas part nothing here.
Result<RuleSet> parse_rules(const std::vector<std::string>& lines);

}  // namespace cay::policy
