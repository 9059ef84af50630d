#include "server/public_url.h"

#include <gtest/gtest.h>

namespace cay::server {
namespace {

http::RequestHead head(std::string host, std::string peer,
                       std::vector<std::pair<std::string, std::string>> headers = {}) {
  http::RequestHead made;
  made.host = std::move(host);
  made.peer = std::move(peer);
  for (auto& [name, value] : headers) made.headers.add(name, value);
  return made;
}

// "scheme host peer" as a client of the daemon has it.
std::string seen(const PublicUrl& public_url, const http::RequestHead& asked) {
  const auto other = public_url.seen(asked);
  const auto& told = other ? *other : asked;
  return told.scheme + " " + told.host + " " + told.peer;
}

const std::vector<std::pair<std::string, std::string>> kForwarded = {
    {"X-Forwarded-Proto", "https"},
    {"X-Forwarded-Host", "cay.example"},
    {"X-Forwarded-For", "evil, 203.0.113.7"}};

TEST(PublicUrlTest, ByDefaultTheRequestTellsItself) {
  const PublicUrl none = *PublicUrl::create("", {});
  EXPECT_EQ(seen(none, head("127.0.0.1:8787", "127.0.0.1:5", kForwarded)),
            "http 127.0.0.1:8787 127.0.0.1:5");
  EXPECT_FALSE(none.seen(head("x", "127.0.0.1:5")));
}

TEST(PublicUrlTest, AskedByItsPublicNameItAnswersWithItsPublicUrl) {
  const PublicUrl public_url = *PublicUrl::create("https://cay.example:8443/", {});
  EXPECT_EQ(public_url.host(), "cay.example");
  EXPECT_EQ(seen(public_url, head("CAY.example", "127.0.0.1:5")),
            "https cay.example:8443 127.0.0.1:5");
  EXPECT_EQ(seen(public_url, head("cay.example:80", "127.0.0.1:5")),
            "https cay.example:8443 127.0.0.1:5");
  EXPECT_EQ(seen(public_url, head("127.0.0.1:8787", "127.0.0.1:5")),
            "http 127.0.0.1:8787 127.0.0.1:5");
}

TEST(PublicUrlTest, OnlyATrustedProxyIsBelieved) {
  const PublicUrl public_url = *PublicUrl::create("", {"10.0.0.0/8", "192.0.2.1", "fd00::/16"});
  for (const char* peer : {"10.1.2.3:5", "192.0.2.1:5", "fd00::7:5", "::ffff:10.1.2.3:5"}) {
    EXPECT_EQ(seen(public_url, head("h", peer, kForwarded)), "https cay.example 203.0.113.7")
        << peer;
  }
  for (const char* peer :
       {"11.0.0.1:5", "192.0.2.2:5", "127.0.0.1:5", "fd01::7:5", "::1:5", "", "nonsense"}) {
    EXPECT_EQ(seen(public_url, head("h", peer, kForwarded)), std::string("http h ") + peer);
  }
}

TEST(PublicUrlTest, WhatAProxyPassesOnUncheckedIsNotTaken) {
  const PublicUrl public_url = *PublicUrl::create("", {"10.0.0.1"});
  const auto asked = head("h", "10.0.0.1:5",
                          {{"X-Forwarded-Proto", "javascript"},
                           {"X-Forwarded-Host", "a/b"},
                           {"X-Forwarded-For", "<b>"}});
  EXPECT_EQ(seen(public_url, asked), "http h 10.0.0.1:5");
}

// A proxy may add a line of its own behind the client's (HAProxy does).
TEST(PublicUrlTest, TheLastLineCounts) {
  const PublicUrl public_url = *PublicUrl::create("", {"10.0.0.1"});
  const auto asked = head(
      "h", "10.0.0.1:5", {{"X-Forwarded-For", "6.6.6.6"}, {"x-forwarded-for", "1.1.1.1, 9.9.9.9"}});
  EXPECT_EQ(seen(public_url, asked), "http h 9.9.9.9");
  EXPECT_EQ(seen(public_url, head("h", "10.0.0.1:5", {{"X-Forwarded-For", "2001:DB8::1"}})),
            "http h [2001:db8::1]");
}

TEST(PublicUrlTest, ServicesHaveThePublicUrlsScheme) {
  const PublicUrl public_url = *PublicUrl::create("https://cay.test", {}, "box.test");
  EXPECT_EQ(seen(public_url, head("id--80.box.test", "10.0.0.1:5")),
            "https id--80.box.test 10.0.0.1:5");
  EXPECT_EQ(seen(public_url, head("ID--80.BOX.test:8080", "10.0.0.1:5")),
            "https ID--80.BOX.test:8080 10.0.0.1:5");
  EXPECT_EQ(seen(public_url, head("id--80.box.test.", "10.0.0.1:5")),
            "https id--80.box.test. 10.0.0.1:5");
  EXPECT_EQ(seen(public_url, head("cay.test.:80", "10.0.0.1:5")), "https cay.test 10.0.0.1:5");
  for (const char* other : {"box.test", "xbox.test", "box.test.evil.test", "localhost"}) {
    EXPECT_EQ(seen(public_url, head(other, "10.0.0.1:5")),
              std::string("http ") + other + " 10.0.0.1:5")
        << other;
  }
  EXPECT_EQ(seen(*PublicUrl::create("", {}, "box.test"), head("id--80.box.test", "10.0.0.1:5")),
            "http id--80.box.test 10.0.0.1:5");
}

TEST(PublicUrlTest, NonsenseIsRefused) {
  for (const char* url : {"cay.example", "ftp://cay.example", "https://",
                          "https://cay.example/base", "https://u@cay.example", "https://a b"}) {
    const auto made = PublicUrl::create(url, {});
    ASSERT_FALSE(made) << url;
    EXPECT_EQ(made.error().reason, "bad_public_url");
  }
  for (const char* proxy : {"", "localhost", "10.0.0.0/33", "10.0.0/8", "::1/129", "1.2.3.4/x"}) {
    const auto made = PublicUrl::create("", {proxy});
    ASSERT_FALSE(made) << proxy;
    EXPECT_EQ(made.error().reason, "bad_trusted_proxy");
  }
}

}  // namespace
}  // namespace cay::server
