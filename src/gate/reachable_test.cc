#include "gate/reachable.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

#include "base/error.h"

namespace cay::gate {
namespace {

TEST(ReachableTest, SpecialRangesAreRefusedUnlessListed) {
  const Reachable reachable({*Network::parse("10.1.0.0/16"), *Network::parse("127.0.0.9")});
  EXPECT_EQ(reachable.look_at(*IpAddress::parse("10.1.2.3")), Reachable::May::kDial);
  EXPECT_EQ(reachable.look_at(*IpAddress::parse("::ffff:10.1.2.3")), Reachable::May::kDial);
  EXPECT_EQ(reachable.look_at(*IpAddress::parse("127.0.0.9")), Reachable::May::kDial);
  for (const char* text : {"10.2.0.1", "127.0.0.1", "169.254.169.254", "::1", "fe80::1", "fd00::1",
                           "64:ff9b::a01:203", "2002:a01:203::", "0.0.0.0"}) {
    EXPECT_EQ(reachable.look_at(*IpAddress::parse(text)), Reachable::May::kNot) << text;
  }
}

TEST(ReachableTest, ANetworkThatIsOpenedIsOfOtherMachines) {
  const IpAddress own = *IpAddress::parse("127.0.0.9");  // whatever this host is: its own
  EXPECT_EQ(Reachable({*Network::parse("127.0.0.0/24")}).look_at(own), Reachable::May::kNot);
  EXPECT_EQ(Reachable({*Network::parse("127.0.0.0/24"), *Network::parse("127.0.0.9")}).look_at(own),
            Reachable::May::kDial);
}

TEST(ReachableTest, AMetadataServiceIsOpenedByItsOwnAddressAlone) {
  const IpAddress service = *IpAddress::parse("169.254.169.254"),
                  beside = *IpAddress::parse("169.254.169.1");
  const Reachable by_range({*Network::parse("169.254.0.0/16"), *Network::parse("fd00::/8"),
                            *Network::parse("100.64.0.0/10")});
  EXPECT_EQ(by_range.look_at(beside), Reachable::May::kDial);
  for (const char* text :
       {"169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"}) {
    EXPECT_EQ(by_range.look_at(*IpAddress::parse(text)), Reachable::May::kNot) << text;
    EXPECT_TRUE(by_range.is_closed(*IpAddress::parse(text))) << text;
  }
  const Reachable by_form({*Network::parse("64:ff9b::/96"), *Network::parse("2002::/16"),
                           *Network::parse("169.254.0.0/16")});
  for (const char* text : {"64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "169.254.169.254"}) {
    EXPECT_EQ(by_form.look_at(*IpAddress::parse(text)), Reachable::May::kNot) << text;
  }
  EXPECT_EQ(by_form.look_at(*IpAddress::parse("64:ff9b::808:808")), Reachable::May::kDial);
  const Reachable exactly({*Network::parse("169.254.169.254")});
  EXPECT_EQ(exactly.look_at(service), Reachable::May::kDial);
  EXPECT_FALSE(exactly.is_closed(service));
  EXPECT_TRUE(exactly.is_closed(beside));
}

TEST(ReachableTest, WhatTheKernelCannotBeAskedIsNoRefusal) {
  const Reachable reachable({});
  const IpAddress address = *IpAddress::parse("8.8.8.8");
  ASSERT_EQ(reachable.look_at(*IpAddress::parse("10.0.0.1")), Reachable::May::kNot);
  // UBSan looks at a new object through a pipe of its own, so it has to meet this one before
  // descriptors run out.
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
