#include "http/proxy_url.h"

#include <gtest/gtest.h>

namespace cay::http {
namespace {

TEST(ProxyUrlTest, HasAHostAPortAndCredentials) {
  const auto whole = parse_proxy_url("http://me:p%40ss@Proxy.Example:3128/");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->host, "proxy.example");
  EXPECT_EQ(whole->port, 3128);
  EXPECT_EQ(whole->credentials, "me:p@ss");
  const auto bare = parse_proxy_url("proxy");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->port, 80);
  EXPECT_FALSE(bare->credentials);
  EXPECT_EQ(parse_proxy_url("http://[::1]:8080")->host, "::1");
  for (const char* wrong : {"", "https://a", "socks5://a", "http://", "http://a:0", "http://a:x",
                            "http://%zz@a", "http://[::1"}) {
    const auto got = parse_proxy_url(wrong);
    ASSERT_FALSE(got) << wrong;
    EXPECT_EQ(got.error().reason, "bad_proxy") << wrong;
  }
}

TEST(ProxyUrlTest, EntriesNameHostsDomainsAndNetworks) {
  const auto entries = no_proxy_entries("a.example, .b.example,*.c.example:8080,10.0.0.0/8,,[::1]");
  EXPECT_EQ(entries, (std::vector<std::string>{"a.example", ".b.example", "*.c.example",
                                               "10.0.0.0/8", "::1"}));
  const auto is_out = [&](const char* host, std::vector<IpAddress> at = {}) {
    return is_without_proxy(entries, host, at);
  };
  for (const char* host :
       {"a.example", "x.a.example", "b.example", "x.b.example", "c.example", "x.c.example", "::1"})
    EXPECT_TRUE(is_out(host)) << host;
  for (const char* host : {"xa.example", "example", "d.example"}) EXPECT_FALSE(is_out(host));
  EXPECT_TRUE(is_out("d.example", {*IpAddress::parse("10.1.2.3")}));
  EXPECT_FALSE(is_out("d.example", {*IpAddress::parse("11.1.2.3")}));
  EXPECT_TRUE(is_without_proxy({"*"}, "any", {}));
}

}  // namespace
}  // namespace cay::http
