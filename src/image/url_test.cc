#include "image/url.h"

#include <gtest/gtest.h>

namespace cay::image {
namespace {

TEST(Url, HasItsParts) {
  const auto url = parse_url("https://a.example:8443/x/y?z=1#part");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "a.example");
  EXPECT_EQ(url->port, "8443");
  EXPECT_EQ(url->target, "/x/y?z=1");
  EXPECT_EQ(url->origin(), "https://a.example:8443");
  EXPECT_EQ(parse_url("http://[::1]:5000")->origin(), "http://[::1]:5000");
  EXPECT_EQ(parse_url("http://a?b")->target, "/?b");
}

TEST(Url, RefusesOthers) {
  for (const char* text :
       {"", "ftp://a/", "https://", "https://u@a/", "https://a:b/", "https://a:99999/",
        "https://a/ b", "https://a/\r\nX: y", "https://[::1", "https://[a]/", "https://a:/"})
    EXPECT_FALSE(parse_url(text)) << text;
}

TEST(Url, RedirectsAreResolved) {
  const Url from = *parse_url("https://a.example/v2/x");
  EXPECT_EQ(resolve(from, "/y?z")->origin(), "https://a.example");
  EXPECT_EQ(resolve(from, "/y?z")->target, "/y?z");
  EXPECT_EQ(resolve(from, "//b.example/y")->origin(), "https://b.example");
  EXPECT_EQ(resolve(from, "http://c.example/y")->origin(), "http://c.example");
  EXPECT_FALSE(resolve(from, "y"));
  EXPECT_FALSE(resolve(from, "file:///etc/passwd"));
}

}  // namespace
}  // namespace cay::image
