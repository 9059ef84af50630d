#include "image/challenge.h"

#include <gtest/gtest.h>

namespace cay::image {
namespace {

TEST(Challenge, OfATokenService) {
  const auto got = parse_challenge(
      "Bearer realm=\"https://auth.example/token\",service=\"reg.example\", "
      "scope=\"repository:a/b:pull,push\"");
  EXPECT_EQ(got.scheme, Challenge::Scheme::kBearer);
  EXPECT_EQ(got.realm, "https://auth.example/token");
  EXPECT_EQ(got.service, "reg.example");
  EXPECT_EQ(got.scope, "repository:a/b:pull,push");
}

TEST(Challenge, OfAPassword) {
  const auto got = parse_challenge("basic realm=\"a \\\"b\\\"\"");
  EXPECT_EQ(got.scheme, Challenge::Scheme::kBasic);
  EXPECT_EQ(got.realm, "a \"b\"");
}

TEST(Challenge, TheFirstOfSeveralCounts) {
  const auto got = parse_challenge("Bearer realm=\"https://a\", Basic realm=\"b\"");
  EXPECT_EQ(got.scheme, Challenge::Scheme::kBearer);
  EXPECT_EQ(got.realm, "https://a");
}

TEST(Challenge, OthersAreNone) {
  for (const char* text : {"", "Bearer", "Negotiate abc=", "Bearer realm=\"https://a"})
    EXPECT_EQ(parse_challenge(text).scheme, Challenge::Scheme::kNone) << text;
}

}  // namespace
}  // namespace cay::image
