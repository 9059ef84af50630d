#include "agent/threads/spending.h"

#include <gtest/gtest.h>

namespace cay::agent {
namespace {

TEST(SpendingTest, AnAnswerWithoutAPriceMakesTheCostUnknown) {
  Spending spent;
  spent.add({100, 10, 40, 0}, 0.5);
  EXPECT_EQ(spent.tokens(), 110U);
  EXPECT_EQ(spent.known_cost(), 0.5);
  Spending other;
  other.add({1, 1, 0, 0}, std::nullopt);
  spent += other;
  EXPECT_EQ(spent.usage, (Usage{101, 11, 40, 0}));
  EXPECT_FALSE(spent.known_cost());
  EXPECT_DOUBLE_EQ(spent.cost, 0.5) << "what is known of it";
}

TEST(SpendingTest, BeyondIsNeverNegative) {
  Spending total, former;
  former.add({100, 10, 0, 0}, 1.0);
  total = former;
  EXPECT_EQ(beyond(total, former), Spending{});
  total.add({50, 5, 10, 2}, 0.25);
  EXPECT_EQ(beyond(total, former).usage, (Usage{50, 5, 10, 2}));
  EXPECT_DOUBLE_EQ(beyond(total, former).cost, 0.25);
  EXPECT_EQ(beyond(former, total), Spending{});
}

}  // namespace
}  // namespace cay::agent
