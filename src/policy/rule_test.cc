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
      {"HTTPS://M.test:8443/", "https://m.test:8443"},
      {"Example.com.", "example.com"},
      {"*.example.com.:443", "*.example.com:443"},
      {"http://m.test:443", "http://m.test:443"},
      {"~^api[0-9]+\\.example\\.com$:443", "~^api[0-9]+\\.example\\.com$:443"},
      {"~(?:a|b){1,3}\\.test", "~(?:a|b){1,3}\\.test"},
      {"~^a{1,3}[b,c](d,e)\\.example$:8000-8100", "~^a{1,3}[b,c](d,e)\\.example$:8000-8100"},
      {"xn--bcher-kva.example", "xn--bcher-kva.example"},
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
      {"", "write example.com"},
      {"!", "write example.com"},
      {"*", "the policy `open`"},
      {"*.", "the policy `open`"},
      {"a.*.com", "alone at the front"},
      {".example.com", "write *.example.com"},
      {"a..b", "write example.com"},
      {"a b.test", "write example.com"},
      {"example.com:", "ports are 1 to 65535"},
      {"example.com:0", "ports are"},
      {"example.com:70000", "ports are"},
      {"example.com:90-80", "write :80-90"},
      {"https://", "the policy `open`"},
      {"[::1", "bracket is not closed"},
      {"[::1]x:1", "behind the bracket"},
      {"ex\nample.com", "write example"},
      {"user@example.com", "names no user"},
      {"010.0.0.1", "write example.com"},
      {"0x7f000001", "write example"},
      {"10.1", "write example.com"},
      {"10.0.0.1/8", "no bits behind its length"},
      {"m\xc3\xbc.test", "xn-- form"},
      {"~", "write an expression"},
      {"~(", "is not taken"},
      {"~a b", "without blanks"},
      {"~(a{1000}){1000}", "expression"},
      {"~x:80:443", "colon"},
      {"*example.com", "alone at the front"},
      {"*.a.*.com", "write an expression"},
      {"192.0.2.*", "written as a network"},
      {"192.0.2.1-192.0.2.9", "written as networks"},
      {"443", "ports stand behind a host"},
      {"8000-8100", "ports stand behind a host"},
      {"example.com:http", "ports are 1 to 65535"},
      {"192.0.2.7:90-80", "write :80-90"},
      {"[::1]:90-80", "write :80-90"},
      {"https://m.test/simple", "a rule names a host and ports, no path"},
      {"https://m.test:8443/simple/?q#f", "proxy rule"},
      {"http://m.test?q", "no path"},
      {"example.com/path", "proxy rule"},
      {"*.example.com/", "no path"},
      {"ftp://m.test", "scheme is https://"},
      {"ssh://m.test:22", "example.com:22"},
      {"https://u@m.test", "names no user"},
      {"~a,b", "no host name has a comma"},
      {"@Pip", "name of a policy"},
      {"@pip:443", "name of a policy"},
      {"~a**", "is not taken"},
  };
  for (const auto& [given, words] : wrong) {
    const auto got = parse_rule(given);
    ASSERT_FALSE(got) << given;
    EXPECT_EQ(got.error().reason, "invalid_policy");
    EXPECT_NE(got.error().message.find(words), std::string::npos)
        << given << ": " << got.error().message;
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

TEST(RuleTest, AnExpressionIsAsLargeAsOrdinaryOnesAre) {
  for (const char* text :
       {"~[a-z0-9-]{1,63}\\.s3\\.(eu|us)-(west|east|central)-[0-9]\\.amazonaws\\.com",
        "~[\\w-]{1,63}\\.blob\\.core\\.windows\\.net", "~[a-f0-9]{64}\\.cdn\\.test",
        "~(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+example\\.com",
        "~(registry-1|auth|production|cdn|files|mirror|archive)\\.(docker|github|pypi|npmjs|debian)"
        "\\.(com|io|org)"}) {
    EXPECT_LE(rule(text).program(), kMostProgram) << text;
  }
  EXPECT_EQ(rule("~" + std::string(255, 'a')).has(443), true) << "as long as it may be written";
  for (const char* text : {"~([ab.]*a[ab.]{90}){10}z", "~.{1,253}", "~(a{1,99}){9}"}) {
    const auto got = parse_rule(text);
    ASSERT_FALSE(got) << text;
    EXPECT_NE(got.error().message.find("too large: write + for a count"), std::string::npos)
        << got.error().message;
  }
}

TEST(RuleTest, AnExpressionEndsAtACommaThatIsNoneOfIts) {
  const std::pair<const char*, std::size_t> ends[] = {
      {"a{1,3},b", 6}, {"[a,b],c", 5},     {"[],a],b", 5}, {"[^],a],b", 6},
      {"[\\],],b", 5}, {"(a,(b,c)),d", 9}, {"a\\,b,c", 4}, {"a", 1},
      {",", 0},        {"(a,b", 4},        {"[a,b", 4},    {"a),b", 2}};
  for (const auto& [text, end] : ends) EXPECT_EQ(expression_end(text), end) << text;
}

TEST(RuleSetTest, AListWithCommasKeepsExpressionsWhole) {
  const auto text_of = [](std::string_view words) {
    const auto rules = parse_rules(words);
    EXPECT_TRUE(rules) << words << (rules ? "" : rules.error().message);
    return rules ? rules->text() : "";
  };
  const std::string expression = "~^a{1,3}\\.example$";
  EXPECT_EQ(text_of(expression + ",pip, b.test"), expression + "\n@pip\nb.test");
  EXPECT_EQ(text_of("pip," + expression), "@pip\n" + expression);
  EXPECT_EQ(text_of("a.test,!" + expression + ":443 , deny ~[x,y]\\.test,pip"),
            "a.test\n!" + expression + ":443\n!~[x,y]\\.test\n@pip");
  EXPECT_EQ(text_of(expression + "\npip"), expression + "\n@pip");
  const auto listed = parse_rules(
      std::vector<std::string>{expression, "pip"});  // given one by one, it goes to its end
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->text(), expression + "\n@pip");
  const auto wrong = parse_rules(std::vector<std::string>{expression + ",pip"});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("write each rule by itself"), std::string::npos)
      << wrong.error().message;
  EXPECT_NE(parse_rules("a.test:80,443").error().message.find("ports stand behind a host"),
            std::string::npos);
}

TEST(RuleSetTest, WhatSaysNothingIsKnown) {
  for (const char* text : {"", " ", "\n\n", ",", " , ,\n", "# pip", "  # pip\n#\n", ", # pip, git"})
    EXPECT_TRUE(says_nothing(text)) << text;
  for (const char* text : {"off", "pip", "# a\npip", "default deny", "first-match"})
    EXPECT_FALSE(says_nothing(text)) << text;
}

TEST(RuleSetTest, LinesCommasDefaultsAndOrder) {
  const auto with_comments = parse_rules("a.test # ours, b.test\n  b.test\t# open\n~c#d\\.test\n");
  ASSERT_TRUE(with_comments) << with_comments.error().message;
  EXPECT_EQ(with_comments->text(), "a.test\nb.test\n~c#d\\.test") << "# within a word is none";
  const auto set = parse_rules(
      "# ours\npip, !*.evil.test ,api.example.com:443,! ~a{1,3}\\.test\nfirst-match\nopen\n\n");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->text(),
            "default allow\nfirst-match\n@pip\n!*.evil.test\napi.example.com:443\n!~a{1,3}\\.test");
  EXPECT_EQ(parse_rules(set->text())->text(), set->text());
  EXPECT_EQ(parse_rules("allow a.test\ndeny b.test:25, a.test")->text(), "a.test\n!b.test:25");
  EXPECT_TRUE(parse_rules("off")->lets_nothing_through());
  EXPECT_TRUE(parse_rules("")->lets_nothing_through());
  for (const char* nothing : {"first-match, off", "default deny\nfirst-match"})
    EXPECT_EQ(parse_rules(nothing)->text(), "") << "an order of nothing";
  EXPECT_EQ(parse_rules("open")->text(), "default allow");
  EXPECT_EQ(parse_rules(std::vector<std::string>{"~a{1,3}", "b.test"})->rules.size(), 2U);
}

TEST(RuleSetTest, BoundsAndContradictions) {
  for (const char* text : {"off, a.test", "default deny, open", "first-match, deny-wins", "!open",
                           "!off", "a.test, b c", "first-match", "# a\ndeny-wins"})
    EXPECT_FALSE(parse_rules(text)) << text;
  EXPECT_TRUE(parse_rules("first-match, default deny") && parse_rules("deny-wins, off"))
      << "said in words";
  std::string many, regexes;
  for (int i = 0; i < 256; ++i) many += "h" + std::to_string(i) + ".test\n";
  EXPECT_TRUE(parse_rules(many));
  const auto more = parse_rules(many + "one-more.test");
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("256 rules"), std::string::npos);
  for (int i = 0; i < 33; ++i) regexes += "~a" + std::to_string(i) + "\n";
  EXPECT_NE(parse_rules(regexes).error().message.find("32 regular"), std::string::npos);
  std::string ordinary, large;
  for (int i = 0; i < 32; ++i)
    ordinary += "~api-[a-z0-9-]+\\.region" + std::to_string(i) + "\\.example\\.com\n";
  EXPECT_TRUE(parse_rules(ordinary)) << parse_rules(ordinary).error().message;
  for (int i = 0; i < 8; ++i)
    large += "~[a-z0-9-]{1,63}\\.region" + std::to_string(i) + "\\.example\\.com\n";
  const auto together = parse_rules(large);
  ASSERT_FALSE(together) << "each may be, all of them may not";
  EXPECT_NE(together.error().message.find("too large together: write + for a count"),
            std::string::npos)
      << together.error().message;
  EXPECT_FALSE(parse_rules(std::string(70'000, ',')));
  EXPECT_FALSE(parse_rules(std::vector<std::string>{"a.test\nb.test"}));
}

}  // namespace
}  // namespace cay::policy
