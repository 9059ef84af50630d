#include "gate/inspection_budget.h"

#include <gtest/gtest.h>

namespace cay::gate {
namespace {

using std::chrono::milliseconds;

TEST(InspectionBudgetTest, WhoeverSpentMoreThanHisShareWaitsUntilItIsEarned) {
  InspectionBudget budget;
  InspectionBudget::Clock::time_point now{};
  budget.charge(InspectionBudget::kAtOnce, now, 0.25);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(0)) << "so much at once is nobody's loss";
  budget.charge(milliseconds(5), now, 0.25);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(20));
  EXPECT_EQ(budget.owed(now, 0.05), milliseconds(100)) << "with more sandboxes each has less";
  now += milliseconds(20);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(0));
  now += std::chrono::hours(1);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(0));
  budget.charge(InspectionBudget::kAtOnce + milliseconds(1), now, 0.25);
  EXPECT_EQ(budget.owed(now, 0.25), milliseconds(4))
      << "what is not spent is not saved beyond that";
}

TEST(InspectionBudgetTest, SharesAreOfOneCoreAndNeverNothing) {
  EXPECT_EQ(InspectionBudget::share(0), 0.25);
  EXPECT_EQ(InspectionBudget::share(1), 0.25);
  EXPECT_EQ(InspectionBudget::share(5), 0.05);
  EXPECT_EQ(InspectionBudget::share(1000), 0.01);
}

TEST(InspectionBudgetTest, ATurnEndsByTime) {
  InspectionBudget budget;
  EXPECT_FALSE(budget.turn_is_over());
  budget.charge(InspectionBudget::kTurn / 2, {}, 1);
  EXPECT_FALSE(budget.turn_is_over());
  budget.charge(InspectionBudget::kTurn / 2, {}, 1);
  EXPECT_TRUE(budget.turn_is_over());
  EXPECT_FALSE(budget.turn_is_over());
}

}  // namespace
}  // namespace cay::gate
