#include "core/needed_rules.h"

#include <gtest/gtest.h>

namespace cay::core {
namespace {

NetworkDecision refused(std::string host, std::uint16_t port, std::string reason, std::string address = {}) {
  NetworkDecision out;
  out.host = std::move(host);
  out.port = port;
  out.reason = std::move(reason);
  out.address = std::move(address);
  return out;
}

TEST(NeededRulesTest, EveryRefusalByARuleHasOneThatWouldNot) {
  EXPECT_EQ(rule_for(refused("a.test", 0, "not_in_policy")), "a.test");
  EXPECT_EQ(rule_for(refused("db", 0, "not_in_policy")), "db:*");
  EXPECT_EQ(rule_for(refused("a.test", 5432, "port_not_in_policy", "192.0.2.1")), "a.test:5432");
  EXPECT_EQ(rule_for(refused("192.0.2.1", 25, "not_in_policy", "192.0.2.1")), "192.0.2.1:25");
  EXPECT_EQ(rule_for(refused("2001:db8::1", 25, "not_in_policy", "2001:db8::1")), "[2001:db8::1]:25");
  EXPECT_EQ(rule_for(refused("a.test", 443, "not_tls", "192.0.2.1")), "192.0.2.1:443") << "no name is shown: its address";
  for (const char* reason : {"private_address", "too_many_connections", "policy_not_allowed", "unreachable"}) EXPECT_EQ(rule_for(refused("a.test", 443, reason)), "");
  EXPECT_EQ(rule_for(refused("a\\046b", 0, "not_in_policy")), "") << "a name that is no host's";
  NetworkDecision fine = refused("a.test", 443, "");
  fine.allowed = true;
  EXPECT_EQ(rule_for(fine), "");
}

TEST(NeededRulesTest, AListThatWouldHaveDone) {
  const policy::Catalogue policies;
  NetworkReport report;
  report.policy = "rules";
  report.rules = "had.test";
  report.items = {refused("a.test", 0, "not_in_policy"), refused("a.test", 443, "not_in_policy", "192.0.2.1"), refused("had.test", 0, "not_in_policy"),
                  refused("b.test", 5432, "port_not_in_policy", "192.0.2.2"), refused("a.test", 0, "not_in_policy")};
  tell_what_is_needed(report, policies);
  EXPECT_EQ(report.needed, (std::vector<std::string>{"a.test", "b.test:5432"}));
  EXPECT_EQ(report.items[1].needs, "a.test:443");
  std::string rules = report.rules;
  for (const std::string& rule : report.needed) rules += "\n" + rule;
  report.rules = rules;
  report.needed.clear();
  tell_what_is_needed(report, policies);
  EXPECT_TRUE(report.needed.empty()) << "with them nothing is refused any more";
}

}  // namespace
}  // namespace cay::core
