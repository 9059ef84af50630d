#include "server/guards.h"

#include <gtest/gtest.h>

#include "server/key_rule.h"

namespace cay::server {
namespace {

http::RequestHead head_with(std::string host,
                            std::vector<std::pair<std::string, std::string>> headers = {}) {
  http::RequestHead head;
  head.host = std::move(host);
  for (auto& [name, value] : headers) head.headers.add(name, value);
  return head;
}

TEST(GuardsTest, ReboundNamesAreRefusedOnLoopback) {
  const HostPolicy policy{.loopback_only = true, .names = {"cay.example.org", ".box.example.org"}};
  for (const char* host : {"127.0.0.1:8787", "localhost", "[::1]:80", "x.localhost:1", "127.8.8.8",
                           "CAY.example.org:443", "a--80.box.example.org", "cay.example.org.",
                           "a--80.box.example.org.:443", "localhost.:80"}) {
    EXPECT_FALSE(check_host(head_with(host), policy)) << host;
  }
  for (const char* host : {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
                           "10.0.0.1", "127.evil", ".", "evil.example."}) {
    EXPECT_TRUE(check_host(head_with(host), policy)) << host;
  }
  // Positive control: with the guard off the same name passes.
  EXPECT_FALSE(
      check_host(head_with("evil.example"), HostPolicy{.loopback_only = false, .names = {}}));
}

std::optional<Error> origin_error(std::string host,
                                  std::vector<std::pair<std::string, std::string>> headers = {}) {
  return check_origin(head_with(std::move(host), std::move(headers)), own_key_rule());
}

TEST(GuardsTest, PagesOfOtherOriginsNeedAKey) {
  EXPECT_FALSE(origin_error("localhost:1"));
  EXPECT_FALSE(origin_error("localhost:1", {{"Origin", "http://localhost:1"}}));
  EXPECT_TRUE(origin_error("localhost:1", {{"Origin", "http://localhost:2"}}));
  EXPECT_TRUE(origin_error("localhost:1", {{"Origin", "https://evil.example"}}));
  EXPECT_TRUE(origin_error("localhost:1", {{"Origin", "null"}}));
  EXPECT_FALSE(
      origin_error("localhost:1", {{"Origin", "https://evil.example"}, {"X-Api-Key", "k"}}));
}

TEST(GuardsTest, StrangersAreToldApartByWhatOneOfThemHas) {
  EXPECT_EQ(network_of_peer("203.0.113.7:51234"), "203.0.113.7");
  EXPECT_EQ(network_of_peer("203.0.113.7"), "203.0.113.7") << "as a proxy tells it";
  EXPECT_EQ(network_of_peer("::ffff:203.0.113.7:51234"), "203.0.113.7");
  EXPECT_EQ(network_of_peer("2001:db8:1:2:3::4:51234"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of_peer("[2001:db8:1:2:ffff::1]"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of_peer("[2001:db8:1:2::9]:443"), "2001:db8:1:2::/64");
  EXPECT_NE(network_of_peer("2001:db8:1:3::4:51234"), network_of_peer("2001:db8:1:2::4:51234"));
  for (const char* odd : {"", "[", "unknown", "a.example:1"})
    EXPECT_EQ(network_of_peer(odd).find('/'), std::string::npos) << odd;
}

TEST(GuardsTest, ListeningOffLoopbackNeedsAYes) {
  EXPECT_FALSE(check_listen("127.0.0.1:0", false));
  EXPECT_FALSE(check_listen("[::1]:8787", false));
  EXPECT_EQ(check_listen("0.0.0.0:8787", false)->reason, "needs_tls");
  EXPECT_FALSE(check_listen("0.0.0.0:8787", true));
  for (const char* bad : {"8787", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:80x", ""}) {
    EXPECT_EQ(check_listen(bad, true)->reason, "bad_listen") << bad;
  }
}

}  // namespace
}  // namespace cay::server
