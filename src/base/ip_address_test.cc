#include "base/ip_address.h"

#include <gtest/gtest.h>

namespace cay {
namespace {

IpAddress ip(const char* text) { return *IpAddress::parse(text); }

TEST(IpAddressTest, TheMappedFormIsTheAddress) {
  EXPECT_EQ(ip("::ffff:192.0.2.1"), ip("192.0.2.1"));
  EXPECT_EQ(ip("::ffff:c000:201").text(), "192.0.2.1");
  EXPECT_FALSE(ip("::192.0.2.1").is_v4());
}

TEST(IpAddressTest, OnlyTheUsualNotations) {
  for (const char* text : {"", "1", "1.2.3", "0x7f000001", "0177.0.0.1", "2130706433", "1.2.3.4 ",
                           "[::1]", "fe80::1%lo", "1.2.3.256"}) {
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  }
  EXPECT_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0x", 9)));
}

TEST(NetworkTest, ContainsByPrefixAndFamily) {
  const Network ten = *Network::parse("10.0.0.0/8");
  EXPECT_TRUE(ten.contains(ip("10.255.0.1")));
  EXPECT_TRUE(ten.contains(ip("::ffff:10.0.0.1")));
  EXPECT_FALSE(ten.contains(ip("11.0.0.0")));
  EXPECT_TRUE(Network::parse("0.0.0.0/0")->contains(ip("8.8.8.8")));
  EXPECT_FALSE(Network::parse("0.0.0.0/0")->contains(ip("2000::1")));
  EXPECT_FALSE(Network::parse("::/0")->contains(ip("8.8.8.8")));
  EXPECT_EQ(Network::parse("192.0.2.7")->text(), "192.0.2.7/32");
}

TEST(NetworkTest, RefusesWhatIsNoNetwork) {
  for (const char* text : {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8x",
                           "::1/64", "x/8", ""}) {
    EXPECT_FALSE(Network::parse(text)) << text;
  }
}

TEST(NetworkTest, OverlapsByBits) {
  const auto overlap = [](const char* a, const char* b) {
    const bool one = Network::parse(a)->overlaps(*Network::parse(b));
    EXPECT_EQ(one, Network::parse(b)->overlaps(*Network::parse(a))) << a << b;
    return one;
  };
  for (const char* text : {"127.0.0.0/8", "127.1.2.3", "::ffff:127.0.0.1", "126.0.0.0/7",
                           "0.0.0.0/1", "0.0.0.0/0", "::fffe:0:0/95", "::/1"}) {
    EXPECT_TRUE(overlap(text, "127.0.0.0/8")) << text;
  }
  for (const char* text : {"126.0.0.0/8", "128.0.0.0/1", "10.0.0.0/8", "::1", "fd00::/8"})
    EXPECT_FALSE(overlap(text, "127.0.0.0/8")) << text;
  EXPECT_TRUE(Network::parse("10.0.0.1")->is_one_address());
  EXPECT_FALSE(Network::parse("10.0.0.0/31")->is_one_address());
  EXPECT_TRUE(Network::parse("fd00::1")->is_one_address());
}

TEST(SpecialNetworksTest, KindsHaveNames) {
  for (const auto& [text, kind] :
       {std::pair("10.0.0.1", "a private address"),
        std::pair("::ffff:172.16.0.1", "a private address"),
        std::pair("fd12::1", "a private address"), std::pair("169.254.1.1", "a link-local address"),
        std::pair("fe80::1", "a link-local address"), std::pair("127.8.8.8", "loopback"),
        std::pair("::1", "loopback"), std::pair("224.0.0.1", "a multicast address"),
        std::pair("ff02::1", "a multicast address"), std::pair("240.0.0.1", "a reserved address"),
        std::pair("64:ff9b::a00:1", "a private address"),
        std::pair("64:ff9b::808:808", "a reserved address"),
        std::pair("0.0.0.0", "no address of a host"), std::pair("8.8.8.8", ""),
        std::pair("2a00::1", "")}) {
    EXPECT_EQ(kind_of(ip(text)), kind) << text;
  }
  for (const char* text : {"169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254",
                           "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd20:ce::254"}) {
    EXPECT_TRUE(is_metadata(ip(text)) && is_special(ip(text))) << text;
    EXPECT_EQ(kind_of(ip(text)), "a cloud's metadata service");
  }
  EXPECT_FALSE(is_metadata(ip("169.254.169.1")));
}

TEST(SpecialNetworksTest, AnIPv4AddressIsSeenInEveryFormThatLeadsToIt) {
  for (const char* text :
       {"64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe",
        "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1:0:a9:fea9:fe00:0",
        "2002:a9fe:a9fe::1", "2002:a9fe:a9fe:ffff::", "2001:0:a9fe:a9fe::", "2001::5601:5601",
        "::ffff:0:a9fe:a9fe", "::a9fe:a9fe", "::ffff:a9fe:a9fe", "64:ff9b::6464:64c8"}) {
    EXPECT_TRUE(is_metadata(ip(text))) << text;
    EXPECT_TRUE(is_special(ip(text))) << text;
    EXPECT_EQ(kind_of(ip(text)), "a cloud's metadata service") << text;
  }
  for (const char* text : {"64:ff9b::a9fe:a9fc", "2002:a9fe:a9fc::1", "64:ff9b:2::a9fe:a9fe",
                           "2003:a9fe:a9fe::1", "2a00::a9fe:a9fe", "169.254.1.1"}) {
    EXPECT_FALSE(is_metadata(ip(text))) << text;
  }
  EXPECT_TRUE(carried_by(ip("10.0.0.1")).empty());
  EXPECT_EQ(kind_of(ip("2002:7f00:1::")), "loopback");
}

TEST(SpecialNetworksTest, WhatIsCarriedMustBeOpenToo) {
  const std::vector<Network> forms = {*Network::parse("64:ff9b::/96"), *Network::parse("2002::/16"),
                                      *Network::parse("169.254.0.0/16")};
  for (const char* text : {"64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "169.254.169.254",
                           "64:ff9b::a00:1", "2002:7f00:1::1", "64:ff9b::e000:1"}) {
    EXPECT_FALSE(is_opened(ip(text), forms)) << text;
  }
  for (const char* text :
       {"64:ff9b::808:808", "2002:808:808::1", "64:ff9b::a9fe:101", "169.254.1.1"})
    EXPECT_TRUE(is_opened(ip(text), forms)) << text;
  const std::vector<Network> exactly = {*Network::parse("64:ff9b::a9fe:a9fe"),
                                        *Network::parse("2002:a00:1::1")};
  EXPECT_TRUE(is_opened(ip("64:ff9b::a9fe:a9fe"), exactly));
  EXPECT_TRUE(is_opened(ip("2002:a00:1::1"), exactly));
  EXPECT_FALSE(is_opened(ip("169.254.169.254"), exactly));
  EXPECT_FALSE(is_opened(ip("2002:a00:1::2"), exactly));
  EXPECT_TRUE(is_opened_by_itself(ip("64:ff9b::a9fe:a9fe"), exactly));
  for (const char* text : {"64:ff9b::808:808", "2002:a00:1::2", "169.254.1.1"}) {
    EXPECT_FALSE(is_opened_by_itself(ip(text), exactly)) << text;
    EXPECT_FALSE(is_opened_by_itself(ip(text), forms)) << text;
  }
}

TEST(SpecialNetworksTest, AllOfThemAreRead) {
  EXPECT_EQ(special_networks().size(), 23U);
  for (const char* text : {"127.0.0.1",
                           "10.1.2.3",
                           "169.254.169.254",
                           "100.100.100.200",
                           "168.63.129.16",
                           "192.168.1.1",
                           "172.31.0.1",
                           "224.0.0.1",
                           "255.255.255.255",
                           "0.0.0.0",
                           "::",
                           "::1",
                           "::ffff:10.0.0.1",
                           "fe80::1",
                           "fd00:ec2::254",
                           "64:ff9b::a00:1",
                           "2002:a00:1::",
                           "2001:0:1::",
                           "ff02::1",
                           "::10.0.0.1"}) {
    EXPECT_TRUE(is_special(ip(text))) << text;
  }
  for (const char* text : {"8.8.8.8", "172.32.0.1", "::ffff:1.1.1.1", "2606:4700::1111", "2a00::1"})
    EXPECT_FALSE(is_special(ip(text))) << text;
}

}  // namespace
}  // namespace cay
