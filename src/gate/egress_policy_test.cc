#include "gate/egress_policy.h"

#include <gtest/gtest.h>

namespace cay::gate {
namespace {

const Endpoint kWeb{*IpAddress::parse("198.18.7.7"), 443};
const Endpoint kOther{*IpAddress::parse("198.18.7.7"), 5432};

EgressPolicy policy_of(const std::string& rules) {
  return EgressPolicy({std::string(policy::kOwnRules), rules}, policy::Catalogue());
}

TEST(EgressPolicyTest, FactsLeadToAVerdict) {
  const auto policy = policy_of("a.test\na.test:5432");
  ASSERT_TRUE(policy.is_allowed());
  using Says = policy::Verdict::Says;
  const Facts unseen{.names = {"a.test"}, .shown = {}, .to = kWeb};
  EXPECT_EQ(policy.decide(unseen).says, Says::kShow) << "443 requires a name";
  const Facts shown{.names = {"a.test"}, .shown = "a.test", .to = kWeb};
  EXPECT_TRUE(policy.decide(shown).allowed());
  const Facts another{.names = {"a.test"}, .shown = "b.test", .to = kWeb};
  EXPECT_EQ(policy.decide(another).says, Says::kNo);
  EXPECT_STREQ(policy.reason_for(another, policy.decide(another)), "port_not_in_policy");
  const Facts named{.names = {"a.test"}, .shown = {}, .to = kOther};
  EXPECT_TRUE(policy.decide(named).allowed());
  const Facts nameless{.names = {}, .shown = {}, .to = kOther};
  EXPECT_STREQ(policy.reason_for(nameless, policy.decide(nameless)), "not_in_policy");
}

TEST(EgressPolicyTest, NamesMatterWhereARuleNamesAHost) {
  EXPECT_TRUE(policy_of("a.test:5432").depends_on_names(kOther));
  EXPECT_FALSE(policy_of("198.18.7.7").depends_on_names(kOther)) << "the address is enough";
}

TEST(EgressPolicyTest, AnAddressInANamesPlaceIsNoName) {
  const Facts facts{.names = {"a.test"}, .shown = "198.18.7.7", .to = kWeb};
  EXPECT_FALSE(policy_of("*.test\n198.18.0.0/16:80").decide(facts).allowed());
  EXPECT_TRUE(policy_of("a.test\n198.18.7.7").decide(facts).allowed()) << "a rule of its own";
}

TEST(EgressPolicyTest, WhatCannotBeReadAllowsNothing) {
  const EgressPolicy policy(EgressPolicy::unreadable(), policy::Catalogue());
  EXPECT_FALSE(policy.is_allowed());
  EXPECT_STREQ(policy.reason(), "policy_unreadable");
  EXPECT_FALSE(policy.opens_proxy_hosts());
  const Facts facts{.names = {"a.test"}, .shown = "a.test", .to = kWeb};
  EXPECT_FALSE(policy.decide(facts).allowed());
}

TEST(EgressPolicyTest, ProxyRulesOpenTheirHostsUnlessItIsOff) {
  const policy::Catalogue catalogue;
  EXPECT_TRUE(EgressPolicy({"packages", {}}, catalogue).opens_proxy_hosts());
  EXPECT_FALSE(EgressPolicy({"off", {}}, catalogue).opens_proxy_hosts());
  EXPECT_TRUE(policy_of("fence.test").allows_fenced_host("fence.test", 443));
  EXPECT_FALSE(policy_of("fence.test").allows_fenced_host("other.test", 443));
}

}  // namespace
}  // namespace cay::gate
