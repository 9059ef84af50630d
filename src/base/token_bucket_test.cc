#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace cay {
namespace {

TEST(TokenBucketTest, SoManyAtOnceAndThenSoManyASecond) {
  TokenBucket limit(10, 5);
  auto now = TokenBucket::Time{} + std::chrono::hours(1);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limit.take(now));
  EXPECT_FALSE(limit.take(now));
  now += std::chrono::seconds(1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limit.take(now)) << i;
  EXPECT_FALSE(limit.take(now));
  now += std::chrono::hours(1);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limit.take(now)) << i;
  EXPECT_FALSE(limit.take(now)) << "nothing is saved up beyond the first";
}

}  // namespace
}  // namespace cay
