#include "policy/rule.h"

#include <gtest/gtest.h>

#include <chrono>

#include "policy/rule_set.h"

namespace cay::policy {
namespace {

Rule rule(std::string_view text, Words words = Words::kPolicies) {
  auto got = parse_rule(text, words);
  EXPECT_TRUE(got) << text << (got ? "" : got.error().message);
  return got ? *std::move(got) : Rule{};
}

TEST(RuleTest, EveryKindHasOneSpelling) {
  const std::pair<const char*, const char*> spelled[] = {
      {"Example.COM", "example.com"},
      {"*.Example.com:443", "*.example.com:443"},
      {"https://example.com", "example.com:443"},
      {"http://m.test", "m.test:80"},
      {"https://m.test:8443/simple/?q#f", "https://m.test:8443"},
      {"http://m.test:443", "http://m.test:443"},
      {"~^api[0-9]+\\.example\\.com$:443", "~^api[0-9]+\\.example\\.com$:443"},
      {"~(?:a|b){1,3}\\.test", "~(?:a|b){1,3}\\.test"},
      {"192.0.2.7", "192.0.2.7"},
      {"192.0.2.0/24:8000-8100", "192.0.2.0/24:8000-8100"},
      {"10.0.0.0/8:*", "10.0.0.0/8"},
      {"2001:db8::/32", "2001:db8::/32"},
      {"[2001:db8::7]:5432", "[2001:db8::7]:5432"},
      {"[2001:DB8::7]", "2001:db8::7"},
      {"db:5432", "db:5432"},
      {"example.com:*", "example.com:*"},
      {"! example.com:*", "!example.com"},
      {"!db:*", "!db:*"},
      {"@pip", "@pip"},
      {"pip", "@pip"},
      {"!git", "!@git"},
  };
  for (const auto& [given, text] : spelled) {
    EXPECT_EQ(rule(given).text(), text) << given;
    EXPECT_EQ(rule(text).text(), text);
  }
  EXPECT_EQ(rule("localhost", Words::kHosts).kind, Rule::Kind::kName);
}

TEST(RuleTest, RefusesWhatIsNoRuleAndSaysWhatToWrite) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "write example.com"},          {"!", "write example.com"},           {"*", "the policy `open`"},
      {"*.", "the policy `open`"},        {"a.*.com", "write example.com"},     {".example.com", "write example.com"},
      {"a..b", "write example.com"},      {"a b.test", "write example.com"},    {"example.com:", "ports are 1 to 65535"},
      {"example.com:0", "ports are"},     {"example.com:70000", "ports are"},   {"example.com:90-80", "ports are"},
      {"https://", "the policy `open`"},  {"[::1", "bracket is not closed"},    {"[::1]x:1", "behind the bracket"},
      {"ex\nample.com", "write example"}, {"user@example.com", "write example"}, {"010.0.0.1", "write example.com"},
      {"0x7f000001", "write example"},    {"10.1", "write example.com"},        {"10.0.0.1/8", "no bits behind its length"},
      {"m\xc3\xbc.test", "xn-- form"},    {"~", "write an expression"},         {"~(", "is not taken"},
      {"~a b", "without blanks"},         {"~(a{1000}){1000}", "expression"},   {"~x:80:443", "colon"},
      {"@Pip", "name of a policy"},       {"@pip:443", "name of a policy"},     {"~a**", "is not taken"},
  };
  for (const auto& [given, words] : wrong) {
    const auto got = parse_rule(given);
    ASSERT_FALSE(got) << given;
    EXPECT_EQ(got.error().reason, "invalid_policy");
    EXPECT_NE(got.error().message.find(words), std::string::npos) << given << ": " << got.error().message;
  }
  EXPECT_FALSE(parse_rule("~" + std::string(257, 'a')));
  EXPECT_FALSE(parse_rule(std::string(254, 'a') + ".test"));
}

TEST(RuleTest, NamesPortsAndProofs) {
  const Rule web = rule("example.com");
  EXPECT_TRUE(web.has(443) && web.has(80) && !web.has(22));
  EXPECT_EQ(web.proof_at(443), Proof::kTls);
  EXPECT_EQ(web.proof_at(80), Proof::kHttp);
  EXPECT_TRUE(web.matches_name("example.com"));
  EXPECT_FALSE(web.matches_name("www.example.com"));
  const Rule below = rule("*.example.com:8443");
  EXPECT_TRUE(below.matches_name("a.b.example.com"));
  EXPECT_FALSE(below.matches_name("example.com"));
  EXPECT_FALSE(below.matches_name("badexample.com"));
  EXPECT_FALSE(below.matches_name(".example.com"));
  EXPECT_EQ(below.proof_at(8443), Proof::kNone);
  const Rule regex = rule("~(API|www)\\.example\\.com");
  EXPECT_TRUE(regex.matches_name("api.example.com"));
  EXPECT_FALSE(regex.matches_name("api.example.com.evil.test")) << "the whole name, not a part";
  EXPECT_FALSE(regex.matches_name("xapi.example.com"));
  EXPECT_TRUE(rule("192.0.2.0/24").has(25));
  EXPECT_TRUE(rule("!example.com").has(25));
  const auto segments = rule("example.com:*").segments();
  ASSERT_EQ(segments.size(), 5U);
  EXPECT_EQ(segments[1].proof, Proof::kHttp);
  EXPECT_EQ(segments[3].proof, Proof::kTls);
  EXPECT_EQ(segments[4].ports, (Ports{444, 65'535}));
}

TEST(RuleTest, AnExpressionTakesLinearTime) {
  const Rule regex = rule("~(a|aa|aaa)*(a?){50}b");
  const std::string name(253, 'a');
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(regex.matches_name(name));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

TEST(RuleSetTest, LinesCommasDefaultsAndOrder) {
  const auto set = parse_rules("# ours\npip, !*.evil.test ,api.example.com:443,! ~a{1,3}\\.test\nfirst-match\nopen\n\n");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->text(), "default allow\nfirst-match\n@pip\n!*.evil.test\napi.example.com:443\n!~a{1,3}\\.test");
  EXPECT_EQ(parse_rules(set->text())->text(), set->text());
  EXPECT_EQ(parse_rules("allow a.test\ndeny b.test:25, a.test")->text(), "a.test\n!b.test:25");
  EXPECT_TRUE(parse_rules("off")->lets_nothing_through());
  EXPECT_TRUE(parse_rules("")->lets_nothing_through());
  EXPECT_EQ(parse_rules("open")->text(), "default allow");
  EXPECT_EQ(parse_rules(std::vector<std::string>{"~a{1,3}", "b.test"})->rules.size(), 2U);
}

TEST(RuleSetTest, BoundsAndContradictions) {
  for (const char* text : {"off, a.test", "default deny, open", "first-match, deny-wins", "!open", "!off", "a.test, b c"}) EXPECT_FALSE(parse_rules(text)) << text;
  std::string many, regexes;
  for (int i = 0; i < 256; ++i) many += "h" + std::to_string(i) + ".test\n";
  EXPECT_TRUE(parse_rules(many));
  const auto more = parse_rules(many + "one-more.test");
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("256 rules"), std::string::npos);
  for (int i = 0; i < 33; ++i) regexes += "~a" + std::to_string(i) + "\n";
  EXPECT_NE(parse_rules(regexes).error().message.find("32 regular"), std::string::npos);
  EXPECT_FALSE(parse_rules(std::string(70'000, ',')));
  EXPECT_FALSE(parse_rules(std::vector<std::string>{"a.test\nb.test"}));
}

}  // namespace
}  // namespace cay::policy
