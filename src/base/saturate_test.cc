#include "base/saturate.h"

#include <gtest/gtest.h>

namespace cay {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST(SaturateTest, ProductsStopAtTheEnds) {
  EXPECT_EQ(saturating_product(-3, 5), -15);
  EXPECT_EQ(saturating_product(kMost, 2), kMost);
  EXPECT_EQ(saturating_product(kLeast, 2), kLeast);
  EXPECT_EQ(saturating_product(kLeast, -1), kMost);
}

TEST(SaturateTest, SumsStopAtTheEnds) {
  EXPECT_EQ(saturating_sum(-3, 5), 2);
  EXPECT_EQ(saturating_sum(kMost, 1), kMost);
  EXPECT_EQ(saturating_sum(kLeast, -1), kLeast);
}

}  // namespace
}  // namespace cay
