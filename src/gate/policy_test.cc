#include "gate/policy.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

namespace cay::gate {
namespace {

std::shared_ptr<const std::vector<Rule>> rules(std::initializer_list<const char*> texts) {
  std::vector<Rule> out;
  for (const char* text : texts) {
    const auto parsed = parse_rules(text);
    EXPECT_TRUE(parsed) << text;
    if (parsed) out.insert(out.end(), parsed->begin(), parsed->end());
  }
  return std::make_shared<const std::vector<Rule>>(std::move(out));
}

TEST(RulesTest, AHostAloneIsTheWebOfIt) {
  const Policy policy("packages", rules({"Example.COM"}));
  EXPECT_EQ(policy.reach("example.com", 443), Proof::kTls);
  EXPECT_EQ(policy.reach("example.com", 80), Proof::kHttp);
  EXPECT_FALSE(policy.reach("example.com", 22));
  EXPECT_FALSE(policy.reach("www.example.com", 443));
  EXPECT_FALSE(policy.reach("example.com.evil.test", 443));
  EXPECT_TRUE(policy.may_resolve("example.com"));
  EXPECT_FALSE(policy.may_resolve("xexample.com"));
}

TEST(RulesTest, WildcardsStandForNamesBelow) {
  const Policy policy("packages", rules({"*.example.com"}));
  EXPECT_TRUE(policy.may_resolve("a.b.example.com"));
  EXPECT_FALSE(policy.may_resolve("example.com"));
  EXPECT_FALSE(policy.may_resolve("badexample.com"));
}

TEST(RulesTest, SchemesPortsAndAddresses) {
  const Policy policy("packages", rules({"https://m.test:8443/simple/", "http://m.test", "db.test:5432", "192.0.2.7:5432", "[2001:db8::7]:5432"}));
  EXPECT_EQ(policy.reach("m.test", 8443), Proof::kTls);
  EXPECT_EQ(policy.reach("m.test", 80), Proof::kHttp);
  EXPECT_FALSE(policy.reach("m.test", 443));
  EXPECT_EQ(policy.reach("db.test", 5432), Proof::kNone);
  EXPECT_EQ(policy.reach("192.0.2.7", 5432), Proof::kNone);
  EXPECT_EQ(policy.reach("2001:db8::7", 5432), Proof::kNone);
  EXPECT_EQ(policy.proof_at(8443), Proof::kTls);
  EXPECT_FALSE(policy.proof_at(25));
}

TEST(RulesTest, RefusesWhatIsNoHost) {
  for (const char* text : {"", "*", "*.", ".example.com", "a b", "example.com:", "example.com:0", "example.com:70000", "https://", "[::1", "ex\nample.com",
                           "user@example.com", "[fe80::1]x:1"}) {
    EXPECT_FALSE(parse_rules(text)) << text;
  }
}

TEST(PolicyTest, OffAndUnknownNamesReachNothing) {
  for (const char* name : {"off", "", "Open", "packages "}) {
    const Policy policy(name, rules({"example.com"}));
    EXPECT_FALSE(policy.may_resolve("example.com")) << name;
    EXPECT_FALSE(policy.reach("example.com", 443)) << name;
    EXPECT_FALSE(policy.reaches_everything()) << name;
  }
  EXPECT_TRUE(Policy("open", nullptr).may_resolve("anything.test"));
}

TEST(PolicyTest, ThePresetIsShownItsNames) {
  const Policy policy("packages", std::make_shared<const std::vector<Rule>>(package_rules()));
  EXPECT_EQ(policy.reach("github.com", 443), Proof::kTls);
  EXPECT_FALSE(policy.reach("github.com", 22));
  EXPECT_FALSE(policy.reach("github.com", 80));
}

TEST(ReachableTest, SpecialRangesAreRefusedUnlessListed) {
  const Reachable reachable({*Network::parse("10.1.0.0/16"), *Network::parse("127.0.0.9")});
  EXPECT_EQ(reachable.look_at(*IpAddress::parse("10.1.2.3")), Reachable::May::kDial);
  EXPECT_EQ(reachable.look_at(*IpAddress::parse("::ffff:10.1.2.3")), Reachable::May::kDial);
  EXPECT_EQ(reachable.look_at(*IpAddress::parse("127.0.0.9")), Reachable::May::kDial);
  for (const char* text : {"10.2.0.1", "127.0.0.1", "169.254.169.254", "::1", "fe80::1", "fd00::1", "64:ff9b::a01:203", "2002:a01:203::", "0.0.0.0"}) {
    EXPECT_EQ(reachable.look_at(*IpAddress::parse(text)), Reachable::May::kNot) << text;
  }
}

TEST(ReachableTest, AMetadataServiceIsOpenedByItsOwnAddressAlone) {
  const IpAddress service = *IpAddress::parse("169.254.169.254"), beside = *IpAddress::parse("169.254.169.1");
  const Reachable by_range({*Network::parse("169.254.0.0/16"), *Network::parse("fd00::/8"), *Network::parse("100.64.0.0/10")});
  EXPECT_EQ(by_range.look_at(beside), Reachable::May::kDial);
  for (const char* text : {"169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"}) {
    EXPECT_EQ(by_range.look_at(*IpAddress::parse(text)), Reachable::May::kNot) << text;
    EXPECT_TRUE(by_range.is_closed(*IpAddress::parse(text))) << text;
  }
  const Reachable exactly({*Network::parse("169.254.169.254")});
  EXPECT_EQ(exactly.look_at(service), Reachable::May::kDial);
  EXPECT_FALSE(exactly.is_closed(service));
  EXPECT_TRUE(exactly.is_closed(beside));
}

TEST(ReachableTest, WhatTheKernelCannotBeAskedIsNoRefusal) {
  const Reachable reachable({});
  const IpAddress address = *IpAddress::parse("8.8.8.8");
  ASSERT_EQ(reachable.look_at(*IpAddress::parse("10.0.0.1")), Reachable::May::kNot);
  // UBSan looks at an object it has not met through a pipe of its own, so it has to meet this one before there are no descriptors.
  EXPECT_FALSE(Error::from_errno(EMFILE, "socket").message.empty());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto without = reachable.look_at(address);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(without, Reachable::May::kUnknown);
  EXPECT_EQ(reachable.look_at(address), Reachable::May::kDial) << "the control";
}

}  // namespace
}  // namespace cay::gate
