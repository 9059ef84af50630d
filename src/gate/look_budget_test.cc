#include "gate/look_budget.h"

#include <gtest/gtest.h>

namespace cay::gate {
namespace {

using std::chrono::milliseconds;

TEST(LookBudgetTest, WhoeverSpentMoreThanHisShareWaitsUntilItIsEarned) {
  LookBudget budget;
  LookBudget::Clock::time_point now{};
  budget.charge(LookBudget::kAtOnce, now, 0.25);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(0)) << "so much at once is nobody's loss";
  budget.charge(milliseconds(5), now, 0.25);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(20));
  EXPECT_EQ(budget.owed(now, 0.05), milliseconds(100)) << "with more doors each has less";
  now += milliseconds(20);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(0));
  now += std::chrono::hours(1);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(0));
  budget.charge(LookBudget::kAtOnce + milliseconds(1), now, 0.25);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(4)) << "what is not spent is not saved beyond that";
}

TEST(LookBudgetTest, SharesAreOfOneCoreAndNeverNothing) {
  EXPECT_EQ(LookBudget::share(0), 0.25);
  EXPECT_EQ(LookBudget::share(1), 0.25);
  EXPECT_EQ(LookBudget::share(5), 0.05);
  EXPECT_EQ(LookBudget::share(1000), 0.01);
}

TEST(LookBudgetTest, ATurnEndsByTime) {
  LookBudget budget;
  EXPECT_FALSE(budget.turn_is_over());
  budget.charge(LookBudget::kTurn / 2, {}, 1);
  EXPECT_FALSE(budget.turn_is_over());
  budget.charge(LookBudget::kTurn / 2, {}, 1);
  EXPECT_TRUE(budget.turn_is_over());
  EXPECT_FALSE(budget.turn_is_over());
}

}  // namespace
}  // namespace cay::gate
