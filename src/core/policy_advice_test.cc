#include "core/policy_advice.h"

#include <gtest/gtest.h>

#include <set>

namespace cay::core {
namespace {

NetworkDecision refused(std::string host, std::uint16_t port, std::string reason,
                        std::string address = {}) {
  NetworkDecision out;
  out.host = std::move(host);
  out.port = port;
  out.reason = std::move(reason);
  out.address = std::move(address);
  return out;
}

TEST(PolicyAdviceTest, EveryRefusalByARuleHasOneThatWouldNot) {
  EXPECT_EQ(rule_for(refused("a.test", 0, "not_in_policy")), "a.test");
  EXPECT_EQ(rule_for(refused("db", 0, "not_in_policy")), "db:*");
  EXPECT_EQ(rule_for(refused("a.test", 5432, "port_not_in_policy", "9.9.9.9")), "a.test:5432");
  EXPECT_EQ(rule_for(refused("9.9.9.9", 25, "not_in_policy", "9.9.9.9")), "9.9.9.9:25");
  EXPECT_EQ(rule_for(refused("2620:fe::fe", 25, "not_in_policy", "2620:fe::fe")),
            "[2620:fe::fe]:25");
  EXPECT_EQ(rule_for(refused("a.test", 443, "not_tls", "9.9.9.9")), "9.9.9.9:443")
      << "no name is shown: its address";
  for (const char* reason :
       {"private_address", "too_many_connections", "policy_not_allowed", "unreachable"})
    EXPECT_EQ(rule_for(refused("a.test", 443, reason)), "");
  EXPECT_EQ(rule_for(refused("a\\046b", 0, "not_in_policy")), "") << "a name that is no host's";
  for (const char* host : {"*.test", "~a.test", "~.*", "!a.test", "@open", "10.0.0.0/8",
                           "https://a.test", "A.test", "a.test.", "a.test:25"}) {
    for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{443}})
      EXPECT_EQ(rule_for(refused(host, port, "not_in_policy")), "")
          << "a program chose it: " << host;
  }
  NetworkDecision fine = refused("a.test", 443, "");
  fine.allowed = true;
  EXPECT_EQ(rule_for(fine), "");
}

TEST(PolicyAdviceTest, AListThatWouldHaveDone) {
  const policy::Catalogue policies;
  NetworkReport report;
  report.policy = "rules";
  report.rules = "had.test";
  report.items = {refused("a.test", 0, "not_in_policy"),
                  refused("a.test", 443, "not_in_policy", "9.9.9.9"),
                  refused("had.test", 0, "not_in_policy"),
                  refused("b.test", 5432, "port_not_in_policy", "9.9.9.10"),
                  refused("a.test", 0, "not_in_policy")};
  advise_report(report, {policies});
  EXPECT_EQ(report.needed, (std::vector<std::string>{"a.test", "b.test:5432"}));
  EXPECT_EQ(report.items[1].needs, "a.test:443");
  std::string rules = report.rules;
  for (const std::string& rule : report.needed) rules += "\n" + rule;
  report.rules = rules;
  report.needed.clear();
  advise_report(report, {policies});
  EXPECT_TRUE(report.needed.empty()) << "with them nothing is refused any more";
}

class AdviceTest : public ::testing::Test {
 protected:
  NetworkDecision advised(NetworkDecision line,
                          const policy::Choice& choice = {"rules", "had.test"}) {
    advise(line, choice, around());
    EXPECT_TRUE(line.needs.empty() == !line.in_the_way.empty()) << "one of the two";
    EXPECT_EQ(line.in_the_way.empty(), line.advice.empty());
    return line;
  }
  std::string kind(NetworkDecision line, const policy::Choice& choice = {"rules", "had.test"}) {
    return advised(std::move(line), choice).in_the_way;
  }

  Around around() const {
    return {policies, networks, proxied,
            [this](const IpAddress& address) { return own.contains(address.text()); }};
  }

  policy::Catalogue policies;
  std::vector<Network> networks;
  std::vector<ProxiedHost> proxied;
  std::set<std::string> own;  // addresses of this host
};

TEST_F(AdviceTest, TheSmallestPresetThatHasTheHostIsNamedBesideItsRule) {
  const auto preset = [this](const char* host, std::uint16_t port = 443,
                             const policy::Choice& choice = {"rules", "had.test"}) {
    return advised(refused(host, port, "not_in_policy"), choice).preset;
  };
  EXPECT_EQ(preset("nodejs.org"), "node");
  EXPECT_EQ(preset("nodejs.org", 0), "node") << "of a name that is looked up";
  EXPECT_EQ(preset("nodejs.org", 443, {"packages"}), "node");
  EXPECT_EQ(preset("pypi.org"), "pip") << "not packages, which has it, too";
  EXPECT_EQ(preset("cas-server.xethub.hf.co"), "huggingface");
  EXPECT_EQ(preset("api.smith.langchain.com"), "tracing");
  EXPECT_EQ(preset("release-assets.githubusercontent.com"), "git");
  EXPECT_EQ(preset("nodejs.org", 80), "") << "it has that host at another port";
  EXPECT_EQ(preset("storage.googleapis.com"), "") << "everybody's buckets";
  EXPECT_EQ(preset("a.test"), "") << "open is no cure";
}

TEST_F(AdviceTest, APresetThatTheOperatorDoesNotAllowIsNotNamed) {
  auto made = policy::Catalogue::make(
      {{.name = "corp", .rules = *policy::parse_rules("nodejs.org:443")}}, {"corp", "pip"});
  ASSERT_TRUE(made) << made.error().message;
  policies = *std::move(made);
  EXPECT_EQ(advised(refused("nodejs.org", 443, "not_in_policy"), {"pip"}).preset, "node")
      << "within what is allowed";
  auto less = policy::Catalogue::make(
      {{.name = "corp", .rules = *policy::parse_rules("registry.npmjs.org:443")}}, {"corp", "pip"});
  ASSERT_TRUE(less) << less.error().message;
  policies = *std::move(less);
  const auto line = advised(refused("registry.npmjs.org", 443, "not_in_policy"), {"pip"});
  EXPECT_EQ(line.needs, "registry.npmjs.org:443");
  EXPECT_EQ(line.preset, "") << "npm has more hosts than are allowed";
}

TEST_F(AdviceTest, ARuleThatDoesItStandsForItself) {
  for (const policy::Choice& choice :
       std::vector<policy::Choice>{{"rules", "had.test"}, {"packages"}, {"off"}}) {
    const auto line = advised(refused("a.test", 443, "not_in_policy", "9.9.9.9"), choice);
    EXPECT_EQ(line.needs, "a.test:443");
  }
  EXPECT_EQ(advised(refused("a.test", 443, "not_tls", "9.9.9.9")).needs, "9.9.9.9:443");
}

TEST_F(AdviceTest, CaysOwnAddressesAreNeverProposed) {
  networks = {*Network::parse("10.0.0.0/8")};
  for (const char* address : {"192.0.0.0", "192.0.0.1", "192.0.0.2", "192.0.0.3", "192.0.0.7",
                              "fd63:6179:6761:7465::2"}) {
    for (const char* reason : {"not_in_policy", "private_address", "names_no_host", "not_tls"})
      EXPECT_EQ(kind(refused(address, 8080, reason, address)), "own_address") << address;
  }
  EXPECT_EQ(kind(refused("a.test", 443, "not_in_policy", "192.0.0.3")), "own_address")
      << "by its name neither";
  EXPECT_EQ(kind(refused("192.0.0.8", 80, "not_in_policy", "192.0.0.8")), "special_address")
      << "the control: the next one is not ours";
}

TEST_F(AdviceTest, SpecialRangesAreTheOperators) {
  const auto line = advised(refused("db.corp.test", 5432, "not_in_policy", "10.1.2.3"));
  EXPECT_EQ(line.in_the_way, "special_address");
  EXPECT_NE(line.advice.find("add \"10.1.2.3\" to network.networks"), std::string::npos)
      << line.advice;
  for (const char* address :
       {"10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "fe80::1", "198.18.0.1"})
    EXPECT_EQ(kind(refused(address, 22, "not_in_policy", address)), "special_address") << address;
  for (const char* address : {"127.0.0.1", "::1", "0.0.0.0", "224.0.0.1", "ff02::1"})
    EXPECT_EQ(kind(refused(address, 22, "private_address", address)), "never_reached") << address;
  const auto metadata = advised(refused("169.254.169.254", 80, "not_in_policy", "169.254.169.254"));
  EXPECT_EQ(metadata.in_the_way, "metadata_address");
  EXPECT_NE(metadata.advice.find("credentials"), std::string::npos);
  EXPECT_EQ(kind(refused("intern.test", 0, "private_address")), "special_address");
  EXPECT_EQ(kind(refused("9.9.9.9", 22, "private_address", "9.9.9.9")), "special_address")
      << "this host's own";
  networks = {*Network::parse("10.0.0.0/8"), *Network::parse("169.254.0.0/16")};  // the control
  EXPECT_EQ(advised(refused("10.1.2.3", 22, "not_in_policy", "10.1.2.3")).needs, "10.1.2.3:22");
  EXPECT_EQ(advised(refused("db.corp.test", 5432, "not_in_policy", "10.1.2.3")).needs,
            "db.corp.test:5432");
  EXPECT_EQ(kind(refused("169.254.169.254", 80, "not_in_policy", "169.254.169.254")),
            "metadata_address")
      << "a network that it lies in does not open it";
}

TEST_F(AdviceTest, WhatTheOperatorOpenedSinceIsJudgedAnew) {
  const auto then = refused("registry.test", 0, "private_address", "10.7.0.4");
  EXPECT_EQ(kind(then), "special_address") << "the control";
  networks = {*Network::parse("10.7.0.4")};
  EXPECT_EQ(advised(then).needs, "registry.test");
  EXPECT_EQ(advised(refused("10.7.0.4", 5432, "private_address", "10.7.0.4")).needs,
            "10.7.0.4:5432");
  NetworkReport report;
  report.policy = "rules";
  report.rules = "registry.test";
  report.items = {then};
  advise_report(report, {policies, networks, proxied});
  EXPECT_TRUE(report.needed.empty());
  EXPECT_TRUE(report.items[0].needs.empty() && report.items[0].in_the_way.empty())
      << report.items[0].advice;
}

// As the gate has it: a network that the operator opens is that of other machines.
TEST_F(AdviceTest, ThisHostsOwnAddressIsOpenedByItselfAlone) {
  own = {"10.77.5.1", "9.9.9.9"};
  networks = {*Network::parse("10.77.5.0/24")};
  EXPECT_EQ(advised(refused("10.77.5.2", 80, "not_in_policy", "10.77.5.2")).needs, "10.77.5.2:80")
      << "the control";
  for (const char* reason : {"private_address", "not_in_policy"}) {
    const auto line = advised(refused("10.77.5.1", 80, reason, "10.77.5.1"));
    EXPECT_EQ(line.in_the_way, "special_address");
    EXPECT_NE(line.advice.find(
                  "10.77.5.1 is this host's own address, which the operator alone opens: add "
                  "\"10.77.5.1\" to network.networks in the daemon's settings by itself"),
              std::string::npos)
        << line.advice;
    EXPECT_EQ(kind(refused("own.test", 80, reason, "10.77.5.1")), "special_address");
  }
  EXPECT_EQ(kind(refused("9.9.9.9", 22, "not_in_policy", "9.9.9.9")), "special_address");
  NetworkReport report;
  report.policy = "open";
  report.items = {refused("10.77.5.1", 80, "private_address", "10.77.5.1")};
  advise_report(report, around());
  EXPECT_TRUE(report.needed.empty());
  EXPECT_EQ(report.items[0].in_the_way, "special_address");
  networks.push_back(*Network::parse("10.77.5.1"));
  EXPECT_EQ(advised(refused("10.77.5.1", 80, "private_address", "10.77.5.1")).needs,
            "10.77.5.1:80");
}

TEST_F(AdviceTest, BesideAFenceRulesOfThePolicyCount) {
  proxied = {
      {.rule = "f", .host = *parse_proxy_host("api.test"), .kind = ProxiedHost::Kind::kFence}};
  EXPECT_EQ(advised(refused("api.test", 443, "not_in_policy")).needs, "api.test:443");
  EXPECT_EQ(kind(refused("api.test", 80, "fenced")), "proxy_rule");
}

TEST_F(AdviceTest, AHostOfAProxyRuleIsReachedByThatAlone) {
  proxied = {{"openai", *parse_proxy_host("api.openai.test")},
             {"corp", *parse_proxy_host("*.corp.test:8443")}};
  for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{443}})
    EXPECT_EQ(kind(refused("api.openai.test", port, "not_in_policy")), "proxy_rule");
  for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{8443}})
    EXPECT_EQ(kind(refused("git.corp.test", port, "not_in_policy")), "proxy_rule");
  EXPECT_NE(advised(refused("api.openai.test", 443, "not_in_policy")).advice.find("'openai'"),
            std::string::npos);
  for (const char* reason :
       {"path_not_in_rule", "host_mismatch", "token_unknown", "secret_reflected"})
    EXPECT_EQ(kind(refused("a.test", 443, reason)), "proxy_rule") << reason;
  EXPECT_EQ(advised(refused("other.openai.test", 443, "not_in_policy")).needs,
            "other.openai.test:443")
      << "the control";
}

TEST_F(AdviceTest, AtAnotherPortThanAProxyRulesThePolicysRulesCount) {
  proxied = {{"mine", *parse_proxy_host("good.test")},
             {"mine", *parse_proxy_host("good.test:8443")}};
  for (const std::uint16_t port : {std::uint16_t{80}, std::uint16_t{8080}}) {
    EXPECT_EQ(advised(refused("good.test", port, "not_in_policy")).needs,
              "good.test:" + std::to_string(port));
  }
  NetworkReport report;
  report.policy = "packages";
  report.items = {refused("good.test", 80, "not_in_policy"),
                  refused("good.test", 8080, "not_in_policy"),
                  refused("good.test", 8443, "not_in_policy")};
  advise_report(report, around());
  EXPECT_EQ(report.needed, (std::vector<std::string>{"good.test:80", "good.test:8080"}));
  EXPECT_EQ(report.items[2].in_the_way, "proxy_rule") << "the control";
  for (auto& one : proxied) one.kind = ProxiedHost::Kind::kBaseUrl;
  EXPECT_EQ(advised(refused("good.test", 8443, "not_in_policy")).needs, "good.test:8443")
      << "its own name is the policy's";
}

TEST_F(AdviceTest, WhatTheBrokerRefusedIsAdvisedByItsReasonAndNotByTheRuleThatReachesTheHost) {
  proxied = {{"mine", *parse_proxy_host("api.test")}};
  const std::pair<const char*, const char*> helps[] = {
      {"secret_reflected", "do not trust that server"},
      {"secret_gone", "`cay secret set` it again"},
      {"vault_unavailable", "`cay doctor`"},
      {"token_unknown", "the variable that the rule sets"},
      {"tls_untrusted", "vault.ca_file"},
      {"path_not_in_rule", "another rule"},
      {"secret_unusable", "give the value again"},
      {"ambiguous_path", "write it plainly"}};
  for (const auto& [reason, words] : helps) {
    for (const char* host : {"api.test", "no-more.test"}) {
      const auto line = advised(refused(host, 443, reason));
      EXPECT_EQ(line.in_the_way, "proxy_rule") << reason;
      EXPECT_NE(line.advice.find(words), std::string::npos) << reason << ": " << line.advice;
      EXPECT_EQ(line.advice.find("no rule goes beside it"), std::string::npos) << reason;
    }
  }
  EXPECT_NE(advised(refused("api.test", 443, "not_in_policy")).advice.find("'mine' reaches it"),
            std::string::npos)
      << "the control";
}

TEST_F(AdviceTest, WhatTheOperatorForbidsIsAskedForAndNotProposed) {
  policies = *policy::Catalogue::make(
      {{.name = "corp", .about = "", .rules = *policy::parse_rules("*.corp.test"), .adds = false}},
      {"packages", "corp"});
  const auto line = advised(refused("a.test", 443, "not_in_policy"), {"corp"});
  EXPECT_EQ(line.in_the_way, "operator");
  EXPECT_NE(line.advice.find("request \"a.test:443\""), std::string::npos) << line.advice;
  EXPECT_EQ(advised(refused("git.corp.test", 443, "not_in_policy"), {"packages"}).needs,
            "git.corp.test:443")
      << "the control";
  EXPECT_EQ(kind(refused("a.test", 443, "policy_not_allowed"), {"open"}), "operator");
}

TEST_F(AdviceTest, WhatARuleRefusesIsNotOpenedByAnother) {
  NetworkDecision line = refused("a.test", 443, "denied_by_rule", "9.9.9.9");
  line.rule = "!a.test";
  const auto own = advised(line, {"rules", "default allow\n!a.test"});
  EXPECT_EQ(own.in_the_way, "denied_by_rule");
  EXPECT_NE(own.advice.find("--remove '!a.test'"), std::string::npos) << own.advice;
  EXPECT_EQ(advised(line, {"rules", "first-match\n!a.test"}).needs, "a.test:443")
      << "in order, what is added stands before it";
  EXPECT_EQ(advised(line, {"packages"}).needs, "a.test:443") << "the rule is no more";
  const auto other = advised(line, {"rules", "default allow\n!*.test"});
  EXPECT_NE(other.advice.find("--remove '!*.test'"), std::string::npos)
      << "the rule that refuses now: " << other.advice;
  policies = *policy::Catalogue::make({{.name = "corp",
                                        .about = "",
                                        .rules = *policy::parse_rules("open, !a.test"),
                                        .adds = false}},
                                      {});
  line.rule = "@corp: !a.test";
  EXPECT_EQ(advised(line, {"corp"}).needs, "a.test:443")
      << "a policy that has a name stands for what it lets through";
}

TEST_F(AdviceTest, WhatNoRuleIsAboutIsToldByKind) {
  EXPECT_EQ(kind(refused("*", 0, "too_many_connections")), "limit");
  EXPECT_EQ(kind(refused("a\\046b", 0, "not_in_policy")), "no_rule");
  EXPECT_EQ(kind(refused("~.*", 443, "not_in_policy")), "no_rule");
  std::string full;
  for (int i = 0; i < 256; ++i) full += "h" + std::to_string(i) + ".test\n";
  EXPECT_EQ(kind(refused("a.test", 443, "not_in_policy"), {"rules", full}), "no_rule")
      << "there are as many as there may be";
  NetworkDecision fine = refused("a.test", 443, "unreachable");
  fine.allowed = true;
  advise(fine, {"open"}, {policies});
  EXPECT_TRUE(fine.in_the_way.empty() && fine.needs.empty());
}

TEST_F(AdviceTest, WhetherTheOperatorsHostsAreAddedToThePolicy) {
  policies = *policy::Catalogue::make({{.name = "corp",
                                        .about = "",
                                        .rules = *policy::parse_rules("@packages, *.corp.test"),
                                        .adds = false}},
                                      {});
  const auto takes = [&](const policy::Choice& choice) {
    NetworkReport report;
    report.policy = choice.policy;
    report.rules = choice.rules;
    advise_report(report, {policies});
    return report.takes_hosts;
  };
  for (const policy::Choice& choice : std::vector<policy::Choice>{
           {"packages"}, {"corp"}, {"rules", "@packages\na.test"}, {"rules", "@corp"}})
    EXPECT_TRUE(takes(choice)) << choice.policy << choice.rules;
  for (const policy::Choice& choice : std::vector<policy::Choice>{
           {"off"}, {"pip"}, {"rules", "a.test"}, {"rules", "default allow\n!@packages"}})
    EXPECT_FALSE(takes(choice)) << choice.policy << choice.rules;
}

TEST_F(AdviceTest, WhatIsNeededCanBeGivenAsItIs) {
  policies = *policy::Catalogue::make({{.name = "corp",
                                        .about = "",
                                        .rules = *policy::parse_rules("*.corp.test, 9.9.9.0/24"),
                                        .adds = false}},
                                      {"off", "corp"});
  proxied = {{"openai", *parse_proxy_host("api.corp.test")}};
  NetworkReport report;
  report.policy = "off";
  report.items = {refused("git.corp.test", 0, "not_in_policy"),
                  refused("git.corp.test", 443, "not_in_policy", "9.9.9.9"),
                  refused("api.corp.test", 0, "not_in_policy"),
                  refused("evil.test", 443, "not_in_policy"),
                  refused("192.0.0.3", 80, "not_in_policy", "192.0.0.3"),
                  refused("9.9.9.7", 25, "not_in_policy", "9.9.9.7"),
                  refused("intern.corp.test", 0, "not_in_policy"),
                  refused("intern.corp.test", 22, "not_in_policy", "10.0.0.1")};
  advise_report(report, {policies, networks, proxied});
  EXPECT_EQ(report.needed, (std::vector<std::string>{"git.corp.test", "9.9.9.7:25"}));
  EXPECT_EQ(report.items[6].in_the_way, "special_address") << "its lookup alone would not do";
  std::string words;
  for (const std::string& rule : report.needed) words += rule + "\n";
  const auto choice = policies.choose(words);
  ASSERT_TRUE(choice);
  EXPECT_TRUE(policies.check_allowed(*choice));
}

}  // namespace
}  // namespace cay::core
