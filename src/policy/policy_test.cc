#include "policy/policy.h"

#include <gtest/gtest.h>

#include "policy/catalogue.h"

namespace cay::policy {
namespace {

using Says = Verdict::Says;

class PolicyTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Policy> of(const std::string& text) {
    auto choice = catalogue.choose(text);
    EXPECT_TRUE(choice) << text << (choice ? "" : choice.error().message);
    return catalogue.policy_of(choice ? *choice : Choice{"off"});
  }

  // A connection to `address`, for which `names` were looked up.
  static Verdict at(const Policy& policy, std::uint16_t port, std::vector<std::string> names = {},
                    std::optional<std::string_view> shown = {},
                    const char* address = "198.51.100.7") {
    return policy.decide(
        {.names = names, .shown = shown, .address = *IpAddress::parse(address), .port = port});
  }

  Catalogue catalogue;
};

TEST_F(PolicyTest, WhatIsNotListedIsRefused) {
  const auto policy = of("example.com, db.test:5432");
  EXPECT_EQ(at(*policy, 443, {"example.com"}).says, Says::kShow);
  EXPECT_EQ(at(*policy, 443).proof, Proof::kTls)
      << "an address that nobody asked a name for may still show one";
  EXPECT_EQ(at(*policy, 80).proof, Proof::kHttp);
  EXPECT_EQ(at(*policy, 443, {}, "example.com").says, Says::kYes);
  EXPECT_EQ(at(*policy, 443, {"example.com"}, "other.test").says, Says::kNo)
      << "the name shown counts, not the one asked for";
  EXPECT_EQ(at(*policy, 5432, {"x.test", "db.test"}).says, Says::kYes);
  EXPECT_EQ(at(*policy, 5432, {"x.test", "db.test"}).rule, "db.test:5432");
  EXPECT_EQ(at(*policy, 5432).says, Says::kNo);
  EXPECT_EQ(at(*policy, 5433, {"db.test"}).rule, "");
  EXPECT_TRUE(policy->may_resolve("db.test").allowed());
  EXPECT_FALSE(policy->may_resolve("evil.test").allowed());
  EXPECT_FALSE(policy->may_resolve("example.com.evil.test").allowed());
}

TEST_F(PolicyTest, WhatFirstBytesMayShowMattersWhereARuleNamesAHost) {
  const auto goes_by_names = [](const Policy& policy, std::uint16_t port,
                                const char* address = "198.51.100.7") {
    return policy
               .decide({.names = {},
                        .shown = {},
                        .address = *IpAddress::parse(address),
                        .port = port,
                        .may_show = true})
               .says == Says::kShow;
  };
  const auto listed = of("db.test:5432, 10.0.0.0/8, 192.0.2.0/24:5432");
  EXPECT_TRUE(goes_by_names(*listed, 5432));
  EXPECT_FALSE(goes_by_names(*listed, 5433)) << "no name helps there";
  EXPECT_FALSE(goes_by_names(*listed, 5432, "10.1.2.3"))
      << "its address is enough, whatever it is called";
  EXPECT_EQ(at(*listed, 5432, {"db.test"}, "db.test").says, Says::kYes);
  EXPECT_EQ(at(*listed, 5432, {"other.test"}, "other.test").says, Says::kNo);
  const auto but = of("open, !evil.test");
  EXPECT_TRUE(goes_by_names(*but, 8443));
  EXPECT_EQ(at(*but, 8443, {"evil.test"}, "evil.test").rule, "!evil.test");
  EXPECT_TRUE(goes_by_names(*of("10.0.0.0/8, !evil.test"), 8443, "10.1.2.3"));
  EXPECT_FALSE(goes_by_names(*of("open"), 8443)) << "nothing is read where no name matters";
  EXPECT_TRUE(goes_by_names(*of("open, !@pip"), 443));
  EXPECT_FALSE(goes_by_names(*of("open, !@pip"), 8443));
}

TEST_F(PolicyTest, WhatIsDeniedIsRefusedWhoeverAllowsIt) {
  const auto policy = of("*.example.com, !secret.example.com, !10.0.0.0/8, 0.0.0.0/0:22");
  EXPECT_EQ(at(*policy, 443, {}, "a.example.com").says, Says::kYes);
  EXPECT_EQ(at(*policy, 443, {}, "secret.example.com").says, Says::kNo);
  EXPECT_EQ(at(*policy, 443, {}, "secret.example.com").rule, "!secret.example.com");
  EXPECT_EQ(at(*policy, 443, {}, "a.example.com", "10.1.2.3").rule, "!10.0.0.0/8");
  EXPECT_EQ(at(*policy, 22).says, Says::kYes);
  EXPECT_EQ(at(*policy, 22, {}, {}, "10.1.2.3").says, Says::kNo);
  EXPECT_EQ(at(*policy, 22, {"secret.example.com"}).says, Says::kNo);
  EXPECT_FALSE(policy->may_resolve("secret.example.com").allowed());
  EXPECT_TRUE(policy->may_resolve("a.example.com").allowed());
}

TEST_F(PolicyTest, ADenyListWantsNamesShownWhereNamesAreShown) {
  const auto policy = of("open, !evil.test, !*.evil.test, !odd.test:8443");
  EXPECT_EQ(at(*policy, 443).proof, Proof::kTls);
  EXPECT_EQ(at(*policy, 443).says, Says::kShow);
  EXPECT_EQ(at(*policy, 443, {}, "good.test").says, Says::kYes);
  EXPECT_EQ(at(*policy, 443, {}, "a.evil.test").rule, "!*.evil.test");
  EXPECT_EQ(at(*policy, 22).says, Says::kYes);
  EXPECT_EQ(at(*policy, 8443, {"odd.test"}).says, Says::kNo);
  EXPECT_FALSE(policy->may_resolve("evil.test").allowed());
  EXPECT_TRUE(policy->may_resolve("odd.test").allowed()) << "at other ports it is reached";
  EXPECT_EQ(at(*of("open, !10.0.0.0/8"), 443).says, Says::kYes) << "addresses need nothing shown";
}

TEST_F(PolicyTest, InOrderTheFirstThatMatchesDecides) {
  const auto policy =
      of("first-match\na.example.com\n!*.example.com\n*.example.com:8443\ndefault allow");
  EXPECT_EQ(at(*policy, 443, {}, "a.example.com").says, Says::kYes);
  EXPECT_EQ(at(*policy, 443, {}, "b.example.com").rule, "!*.example.com");
  EXPECT_EQ(at(*policy, 8443, {"b.example.com"}).says, Says::kNo);
  EXPECT_EQ(at(*policy, 443, {}, "else.test").says, Says::kYes);
  // Allowed before denied: the lists of some clouds' clients.
  const auto wins = of("first-match\n192.0.2.7\n!0.0.0.0/0\n!::/0\ndefault allow");
  EXPECT_EQ(at(*wins, 9, {}, {}, "192.0.2.7").says, Says::kYes);
  EXPECT_EQ(at(*wins, 9).rule, "!0.0.0.0/0");
  EXPECT_FALSE(wins->may_resolve("anything.test").allowed())
      << "who refuses all addresses means no questions to go out";
}

TEST_F(PolicyTest, WhoRefusesIpv6RefusesNoName) {
  for (const char* rules : {"open, !::/0", "*.test, !::/0", "first-match\n!::/0\n*.test"}) {
    const auto policy = of(rules);
    EXPECT_TRUE(policy->may_resolve("a.test").allowed()) << rules;
    EXPECT_EQ(policy->refuses_v6(), "!::/0") << rules;
    EXPECT_EQ(at(*policy, 443, {"a.test"}, "a.test", "2001:db8::1").says, Says::kNo) << rules;
  }
  for (const char* rules : {"open, ![::/0]:443", "open, !2000::/3", "first-match\na.test\n!::/0",
                            "open, !0.0.0.0/0", "open"})
    EXPECT_EQ(of(rules)->refuses_v6(), "") << rules;
  EXPECT_FALSE(of("open, !::/0, !0.0.0.0/0")->may_resolve("a.test").allowed());
}

TEST_F(PolicyTest, AnAddressThatNobodyKnowsIsInNoNetwork) {
  const std::string names[] = {"a.test"};
  const ConnectionFacts facts{
      .names = names, .shown = "a.test", .address = std::nullopt, .port = 443};
  EXPECT_EQ(of("open, !::/0, !0.0.0.0/0")->decide(facts).says, Says::kYes);
  EXPECT_EQ(of("::/0, 0.0.0.0/0, b.test")->decide(facts).says, Says::kNo);
}

TEST_F(PolicyTest, NamedPoliciesComposeAndSayWhichRuleItWas) {
  const auto policy = of("packages, !npm, api.example.com");
  EXPECT_EQ(at(*policy, 443, {}, "pypi.org").rule, "@packages: @pip: pypi.org:443");
  EXPECT_EQ(at(*policy, 443, {}, "registry.npmjs.org").rule, "!@npm: registry.npmjs.org:443");
  EXPECT_EQ(at(*policy, 80, {}, "deb.debian.org").says, Says::kYes);
  EXPECT_EQ(at(*policy, 80, {}, "pypi.org").says, Says::kNo);
  EXPECT_EQ(at(*policy, 22, {"github.com"}).says, Says::kNo);
}

TEST_F(PolicyTest, AProofIsAskedForOnlyWhereItDecides) {
  EXPECT_EQ(at(*of("192.0.2.0/24, example.com"), 443, {}, {}, "192.0.2.7").says, Says::kYes);
  EXPECT_EQ(at(*of("!192.0.2.0/24, example.com"), 443, {}, {}, "192.0.2.7").says, Says::kNo);
  EXPECT_EQ(at(*of("open, example.com"), 443).says, Says::kYes);
  EXPECT_EQ(at(*of("db.test:5432, !evil.test"), 443).says, Says::kNo)
      << "nothing that is shown would let it through";
  EXPECT_EQ(at(*of("https://a.test:9, http://b.test:9"), 9).proof, Proof::kTls) << "the strictest";
}

TEST_F(PolicyTest, PresetsAreWhatTheySay) {
  const auto reached = [&](const char* policy, const char* host, std::uint16_t port = 443) {
    return at(*of(policy), port, {}, host).allowed();
  };
  const std::pair<const char*, const char*> known[] = {
      {"debian", "deb.debian.org"},
      {"ubuntu", "archive.ubuntu.com"},
      {"alpine", "dl-cdn.alpinelinux.org"},
      {"pip", "files.pythonhosted.org"},
      {"npm", "registry.npmjs.org"},
      {"cargo", "index.crates.io"},
      {"go", "proxy.golang.org"},
      {"ruby", "rubygems.org"},
      {"java", "repo1.maven.org"},
      {"dotnet", "api.nuget.org"},
      {"php", "packagist.org"},
      {"git", "github.com"},
      {"models", "api.openai.com"},
      {"models", "api.anthropic.com"},
      {"models", "generativelanguage.googleapis.com"},
      {"models", "api.mistral.ai"},
      {"tracing", "api.smith.langchain.com"},
      {"tracing", "api.honeycomb.io"},
      {"tracing", "apac.api.smith.langchain.com"},
      {"tracing", "aws.api.smith.langchain.com"},
      {"tracing", "jp.cloud.langfuse.com"},
      {"tracing", "hipaa.cloud.langfuse.com"},
      {"tracing", "logfire-us.pydantic.dev"},
      {"tracing", "logfire-eu.pydantic.dev"},
  };
  for (const auto& [policy, host] : known) {
    EXPECT_TRUE(reached(policy, host)) << policy;
    EXPECT_FALSE(reached(policy, "example.com")) << policy;
    const bool part = std::string_view(policy) != "models" && std::string_view(policy) != "tracing";
    EXPECT_EQ(reached("packages", host), part) << host;
  }
  EXPECT_EQ(catalogue.all().size(), 19U);
  for (const NamedPolicy& one : catalogue.all())
    EXPECT_TRUE(one.policy && !one.about.empty()) << one.name;
}

}  // namespace
}  // namespace cay::policy
