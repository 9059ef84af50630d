#include "policy/one_more.h"

#include <gtest/gtest.h>

#include <random>

namespace cay::policy {
namespace {

// Returns what OneMore has to return: the whole set is written with the rule, read again and
// compiled.
Result<Choice> written(const Catalogue& policies, const Choice& choice, const std::string& text) {
  RuleSet rules;
  if (choice.policy == kOwnRules) {
    CAY_TRY(rules, policies.rules_of(choice));
  } else if (choice.policy == "open") {
    rules.otherwise = Action::kAllow;
  } else if (choice.policy != "off") {
    CAY_TRY(Rule named, parse_rule("@" + choice.policy));
    rules.rules.push_back(std::move(named));
  }
  CAY_TRY(Rule rule, parse_rule(text));
  rules.rules.insert(rules.order == Order::kFirstMatch ? rules.rules.begin() : rules.rules.end(),
                     std::move(rule));
  return policies.choose(rules.text());
}

class OneMoreTest : public ::testing::Test {
 protected:
  std::string any(std::span<const std::string_view> of) {
    return std::string(of[random_() % of.size()]);
  }
  bool once_in(unsigned many) { return random_() % many == 0; }

  Choice any_choice() {
    static constexpr std::string_view kNamed[] = {"off",     "open", "packages", "corp", "careful",
                                                  "ordered", "gone", "Odd",      ""};
    static constexpr std::string_view kRules[] = {"a.test",           "!a.test",
                                                  "*.test",           "!*.b.test",
                                                  "b.test:22",        "!b.test:443",
                                                  "~[ab]\\.test",     "!~c.*:80-443",
                                                  "9.9.9.9",          "!9.9.9.0/24:443",
                                                  "0.0.0.0/0:22",     "!::/0",
                                                  "!0.0.0.0/0",       "@corp",
                                                  "!@corp",           "@careful",
                                                  "!@careful",        "@ordered",
                                                  "!@ordered",        "@gone",
                                                  "http://b.test:22", "https://a.test:22",
                                                  "c.a.test",         "c.a.test:*",
                                                  "!c.a.test:*",      "9.9.9.9:22",
                                                  "a.test:443",       "@packages",
                                                  "2620:fe::fe:443",  "b c",
                                                  "default allow",    "first-match"};
    if (once_in(4)) return {any(kNamed)};
    std::string text;
    for (auto count = random_() % 6; count > 0; --count) text += any(kRules) + "\n";
    if (once_in(3)) text += "first-match\n";
    if (once_in(4)) text += "default allow\n";
    if (once_in(40)) {
      for (int i = 0; i < 256; ++i) text += "h" + std::to_string(i) + ".test\n";
    }
    return {std::string(kOwnRules), text};
  }

  std::mt19937 random_{7};
};

TEST_F(OneMoreTest, SaysWhatTheWholeWrittenAndReadAgainWould) {
  static constexpr std::string_view kMore[] = {
      "a.test",     "b.test:22",   "b.test:443",        "c.a.test:*", "db:*",
      "9.9.9.9:22", "9.9.9.9:443", "[2620:fe::fe]:443", "a.test:80"};
  static constexpr std::string_view kNames[] = {"a.test",      "b.test",   "c.a.test",    "db",
                                                "x.corp.test", "pypi.org", "none.example"};
  static constexpr std::string_view kAddresses[] = {"9.9.9.9", "9.9.8.8", "2620:fe::fe"};
  static constexpr std::uint16_t kPorts[] = {22, 80, 443, 5432};
  const std::vector<Definition> own = {
      {.name = "corp", .rules = *parse_rules("*.corp.test, a.test, 9.9.9.0/24")},
      {.name = "careful", .rules = *parse_rules("open, !a.test, !9.9.9.9")},
      {.name = "ordered", .rules = *parse_rules("first-match, b.test:22, !*.test, ~.*:443")}};
  const std::vector<std::vector<std::string>> allowed = {
      {}, {"corp"}, {"packages", "careful"}, {"open"}, {"off", "ordered"}};
  std::size_t taken = 0, let_through = 0, within = 0;
  for (const auto& names : allowed) {
    const auto policies = Catalogue::make(own, names);
    ASSERT_TRUE(policies) << policies.error().message;
    for (int i = 0; i < 80; ++i) {
      const Choice choice = any_choice();
      const OneMore more(*policies, choice);
      for (const std::string_view text : kMore) {
        SCOPED_TRACE(choice.policy + ": " + choice.rules.substr(0, 300) + " and " +
                     std::string(text));
        const Rule rule = *parse_rule(text);
        const auto whole = written(*policies, choice, std::string(text));
        const auto takes = more.takes(rule);
        ASSERT_EQ(takes.has_value(), whole.has_value());
        if (!whole) {
          ASSERT_EQ(takes.error().message, whole.error().message);
          continue;
        }
        ++taken;
        ASSERT_EQ(more.is_allowed(rule), policies->check_allowed(*whole).has_value());
        within += more.is_allowed(rule) ? 1 : 0;
        const auto policy = policies->policy_of(*whole);
        for (int look = 0; look < 6; ++look) {
          const std::string name = any(kNames);
          ASSERT_EQ(more.may_resolve(name, rule).allowed(), policy->may_resolve(name).allowed())
              << name;
          const std::string asked[] = {name, any(kNames)};
          ConnectionFacts facts{.names = once_in(4) ? std::span<const std::string>() : asked,
                                .shown = std::nullopt,
                                .address = *IpAddress::parse(any(kAddresses)),
                                .port = kPorts[random_() % 4]};
          const std::string shown = any(kNames);
          if (!once_in(3)) facts.shown = shown;
          const Verdict one = more.decide(facts, rule), other = policy->decide(facts);
          ASSERT_EQ(one.says, other.says)
              << name << " " << shown << " " << facts.address->text() << ":" << facts.port;
          ASSERT_EQ(one.proof, other.proof);
          let_through += one.allowed() ? 1 : 0;
        }
      }
    }
  }
  // The control: neither is everything refused nor everything let through.
  EXPECT_GT(taken, 1'000U);
  EXPECT_GT(let_through, 1'000U);
  EXPECT_LT(let_through, taken * 6);
  EXPECT_GT(within, 100U);
  EXPECT_LT(within, taken);
}

}  // namespace
}  // namespace cay::policy
