#include "model/path_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace cay {
namespace {

TEST(PathPatternTest, AStarIsOfOneSegmentAndTwoAreOfAll) {
  EXPECT_TRUE(path_matches("/v1/models", "/v1/models"));
  EXPECT_FALSE(path_matches("/v1/models", "/v1/models/"));
  EXPECT_FALSE(path_matches("/v1/models", "/v1/model"));
  EXPECT_FALSE(path_matches("/v1/models", "/V1/models"));
  EXPECT_TRUE(path_matches("/v1/*", "/v1/chat"));
  EXPECT_FALSE(path_matches("/v1/*", "/v1/chat/completions"));
  EXPECT_FALSE(path_matches("/v1/*", "/v1"));
  EXPECT_TRUE(path_matches("/repos/*/issues", "/repos/me/issues"));
  EXPECT_FALSE(path_matches("/repos/*/issues", "/repos/me/other/issues"));
  EXPECT_TRUE(path_matches("/v1/**", "/v1/chat/completions"));
  EXPECT_FALSE(path_matches("/v1/**", "/v1"));
  EXPECT_FALSE(path_matches("/v1/**", "/v10/x"));
  EXPECT_TRUE(path_matches("/**/raw/*.txt", "/a/b/raw/c.txt"));
  EXPECT_FALSE(path_matches("/**/raw/*.txt", "/a/b/raw/c/d.txt"));
  EXPECT_TRUE(path_matches("/a*b*c", "/axxbyyc"));
  EXPECT_TRUE(path_matches("/a*b*c", "/abcbc"));
  EXPECT_FALSE(path_matches("/a*b*c", "/axxbyycd"));
  EXPECT_TRUE(path_matches("/**/x/**/y", "/a/x/x/b/y"));
  EXPECT_TRUE(path_matches("**", "/anything/at/all"));
  EXPECT_TRUE(path_matches("**", "/"));
}

TEST(PathPatternTest, NoPatternTakesLong) {
  std::string pattern = "/";
  while (pattern.size() + 3 <= kMostPathPattern) pattern += "**a";
  EXPECT_FALSE(path_matches(pattern + "b", "/" + std::string(4000, 'a')));
  EXPECT_TRUE(path_matches(pattern, "/" + std::string(4000, 'a')));
  EXPECT_FALSE(path_matches("/" + std::string(kMostPathPattern, 'a'),
                            "/" + std::string(kMostPathPattern, 'a')))
      << "longer than one may be";
}

TEST(PathPatternTest, WhatIsNoPattern) {
  for (const char* text : {"", "*", "v1", "/a//b", "/a/../b", "/./a", "/a/..", "/a/.", "/a%2fb",
                           "/a?b", "/a#b", "/a\\b", "/a b", "/a\x7f", "/\xc3\xa9"}) {
    EXPECT_FALSE(is_path_pattern(text)) << text;
  }
  for (const char* text : {"/", "**", "/v1/**", "/repos/*/x.tar.gz", "/...a", "/a:b@c;d=e,f"})
    EXPECT_TRUE(is_path_pattern(text)) << text;
  EXPECT_FALSE(is_path_pattern("/" + std::string(kMostPathPattern, 'a')));
}

}  // namespace
}  // namespace cay
