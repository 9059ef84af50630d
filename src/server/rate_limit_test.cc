#include "server/rate_limit.h"

#include <gtest/gtest.h>

#include "base/testing/stepped_clock.h"

namespace cay::server {
namespace {

using cay::testing::SteppedClock;

int taken(RateLimit& limit, const std::string& name) {
  int count = 0;
  while (count < 1000 && limit.take(name)) ++count;
  return count;
}

TEST(RateLimitTest, GivesSoManyAndRefillsWithTime) {
  SteppedClock clock;
  RateLimit limit(10, 2, clock, 100);
  EXPECT_EQ(taken(limit, "a"), 20);
  EXPECT_EQ(taken(limit, "b"), 20) << "each has its own";
  clock.now += Millis(500);
  EXPECT_EQ(taken(limit, "a"), 5);
  clock.now += std::chrono::hours(1);
  EXPECT_EQ(taken(limit, "a"), 20) << "no more than at once";
}

TEST(RateLimitTest, TellsSoManyApartAndNoMore) {
  SteppedClock clock;
  clock.now += std::chrono::hours(1);
  RateLimit limit(10, 1, clock, 3);
  EXPECT_EQ(taken(limit, "a"), 10);
  EXPECT_EQ(taken(limit, "b"), 10);
  EXPECT_EQ(taken(limit, "c"), 10);
  EXPECT_EQ(taken(limit, "d"), 10) << "what the rest has together";
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(limit.take("new-" + std::to_string(i)));
  EXPECT_LE(limit.names(), 4U);
  clock.now += std::chrono::seconds(2);
  EXPECT_EQ(taken(limit, "e"), 10) << "those that were silent for so long gave way";
  EXPECT_LE(limit.names(), 4U);
}

TEST(RateLimitTest, NoneIsNoLimit) {
  SteppedClock clock;
  RateLimit limit(0, 2, clock, 100);
  EXPECT_EQ(taken(limit, "a"), 1000);
}

}  // namespace
}  // namespace cay::server
