#include "vault/secret_matcher.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/base64.h"

namespace cay::vault {
namespace {

constexpr const char* kSecret = "sk-live-0123456789abcdef";

std::vector<Wiped> wiped(std::initializer_list<const char*> all) {
  std::vector<Wiped> out;
  for (const char* one : all) out.emplace_back(std::string(one));
  return out;
}

class SecretMatcherTest : public ::testing::Test {
 protected:
  SecretMatcherTest() { matcher.add(kSecret); }
  SecretMatcher matcher;
};

TEST_F(SecretMatcherTest, FindsASecretWhereverItStands) {
  for (const std::string& text :
       {std::string(kSecret), codec::base64(kSecret).substr(0, 32),
        std::string("%73k-live-0123456789abcdef"), std::string("\\u0073k-live-0123456789abcdef")}) {
    for (std::size_t before = 0; before < 20; ++before) {
      for (const char c : {text[0], 's', '%', '\\', '\n'})
        EXPECT_TRUE(matcher.finds_in(std::string(before, c) + text + "y")) << text << before << c;
    }
    EXPECT_FALSE(matcher.finds_in(text.substr(6))) << text;
    EXPECT_FALSE(matcher.finds_in(text.substr(0, text.size() - 1))) << text;
  }
  for (const char* text : {"", "sk", "sk-live-", "sk-live-sk-live-sk-live-"})
    EXPECT_FALSE(matcher.finds_in(text)) << text;
}

TEST_F(SecretMatcherTest, AmongManyThatBeginAlike) {
  EXPECT_EQ(SecretMatcher().longest(), 0U);
  EXPECT_FALSE(SecretMatcher().finds_in("anything at all"));
  std::vector<std::string> all{kSecret};
  for (std::size_t i = 1; i < 20; ++i)
    all.push_back("sk-live-" + std::to_string(i * 7919) + std::string(i, 'q'));
  for (const std::string& one : all) matcher.add(one);
  matcher.add(kSecret);
  for (const std::string& one : all) {
    EXPECT_TRUE(matcher.finds_in("sk-live-sk-" + one + "-")) << one;
    EXPECT_FALSE(matcher.finds_in("sk-live-" + one.substr(9))) << one;
  }
  EXPECT_EQ(matcher.longest(), all.back().size() * kMostGrowth);
}

TEST(EncodingCacheTest, MakesTheEncodingsOfASecretOnceHoweverManyLookForIt) {
  EncodingCache cache;
  const auto one = wiped({kSecret}), both = wiped({"another-of-them-0123", kSecret});
  EXPECT_EQ(cache.matcher({}, {}).longest(), 0U);
  {
    const SecretMatcher first = cache.matcher({}, one), again = cache.matcher({}, one);
    EXPECT_TRUE(first.shares_encodings_with(again));
    EXPECT_TRUE(again.finds_in(kSecret));
    EXPECT_FALSE(again.finds_in("another-of-them-0123"));
    const SecretMatcher more = cache.matcher(first, both), same = cache.matcher({}, both);
    EXPECT_FALSE(more.shares_encodings_with(first));
    EXPECT_TRUE(more.shares_encodings_with(same));
    EXPECT_TRUE(more.shares_encodings_with(cache.matcher(more, one)))
        << "what was looked for still is";
    EXPECT_TRUE(more.finds_in(kSecret) && more.finds_in("another-of-them-0123"));
    EXPECT_FALSE(first.finds_in("another-of-them-0123")) << "what is shared is left as it is";
    EXPECT_EQ(cache.size(), 2U);
  }
  EXPECT_EQ(cache.size(), 0U) << "nobody's secrets are kept";
}

}  // namespace
}  // namespace cay::vault
