#include "vault/request_path.h"

#include <gtest/gtest.h>

namespace cay::vault {
namespace {

TEST(RequestPathTest, WhatIsReadIsWhatIsSent) {
  struct Case {
    const char *from, *read, *sent;
  };
  const Case cases[] = {
      {"/", "/", "/"},
      {"/v1/models", "/v1/models", "/v1/models"},
      {"/v1/models/", "/v1/models/", "/v1/models/"},
      {"/v1/./models", "/v1/models", "/v1/models"},
      {"/v1/../admin", "/admin", "/admin"},
      {"/v1/a/..", "/v1/", "/v1/"},
      {"/v1/.", "/v1/", "/v1/"},
      {"/a/b/../../c", "/c", "/c"},
      {"/%61dmin", "/admin", "/admin"},
      {"/a%20b", "/a b", "/a%20b"},
      {"/a%2bb+c", "/a+b+c", "/a%2Bb+c"},
      {"/%c3%a9", "/\xc3\xa9", "/%C3%A9"},
      {"/a:b@c;d=e,f!$&'()*", "/a:b@c;d=e,f!$&'()*", "/a:b@c;d=e,f!$&'()*"},
      {"/x.tar.gz", "/x.tar.gz", "/x.tar.gz"},
      {"/..a/.b", "/..a/.b", "/..a/.b"},
  };
  for (const Case& one : cases) {
    const auto got = read_path(one.from);
    ASSERT_TRUE(got) << one.from;
    EXPECT_EQ(got->read, one.read) << one.from;
    EXPECT_EQ(got->sent, one.sent) << one.from;
    const auto again = read_path(got->sent);
    ASSERT_TRUE(again) << one.from;
    EXPECT_EQ(again->read, got->read) << one.from;
    EXPECT_EQ(again->sent, got->sent) << one.from;
  }
}

TEST(RequestPathTest, WhatMayBeReadInTwoWaysIsRefused) {
  for (const char* path : {"",
                           "v1",
                           "*",
                           "//v1",
                           "/v1//x",
                           "/v1/x//",
                           "/v1%2fadmin",
                           "/v1%2Fadmin",
                           "/v1/..%2fadmin",
                           "/v1/%2e%2e/admin",
                           "/v1/%2E./x",
                           "/v1/.%2e/x",
                           "/%2e/x",
                           "/v1%5cadmin",
                           "/v1\\admin",
                           "/v1/..\\x",
                           "/v1/%252e",
                           "/v1/%252fx",
                           "/v1%00",
                           "/v1/x%0d%0a",
                           "/v1/%7f",
                           "/v1/%",
                           "/v1/%2",
                           "/v1/%zz",
                           "/v1/%3fx",
                           "/v1/%23x",
                           "/v1#x",
                           "/v1/a b",
                           "/v1/..;/admin",
                           "/v1/.;a/x",
                           "/v1/;/x",
                           "/v1/..%3b/x",
                           "/v1/..%20/x",
                           "/v1/.../x",
                           "/v1/. /x",
                           "/v1/%c0%ae/x",
                           "/v1/%c0%af",
                           "/v1/%e0%80%af",
                           "/v1/%ff",
                           "/../x",
                           "/a/../../x",
                           "/..",
                           "/v1/\xc3\xa9",
                           "/v1/\t"}) {
    EXPECT_FALSE(read_path(path)) << path;
  }
  EXPECT_FALSE(read_path("/" + std::string(kMostRequestPath, 'a')));
  EXPECT_TRUE(read_path("/" + std::string(kMostRequestPath - 1, 'a')));
}

}  // namespace
}  // namespace cay::vault
