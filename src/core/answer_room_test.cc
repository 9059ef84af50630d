#include "core/answer_room.h"

#include <gtest/gtest.h>

#include <vector>

namespace cay::core {
namespace {

const TenantId kAlice("alice");
const TenantId kBob("bob");

TEST(AnswerRoomTest, ATenantHasHalfOfWhatTheOthersLeave) {
  const AnswerRoom room(800);
  const auto one = room.begin(kAlice);
  EXPECT_TRUE(one->need(300));
  const auto two = room.begin(kAlice);
  const auto refused = two->need(101);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kExhausted);
  EXPECT_EQ(refused.error().reason, kTooManyAnswers);
  EXPECT_EQ(room.held(), 300U);
  EXPECT_TRUE(two->need(100));
  const auto theirs = room.begin(kBob);
  EXPECT_FALSE(theirs->need(201));
  EXPECT_TRUE(theirs->need(200));
  EXPECT_FALSE(one->need(301)) << "now that bob has some";
  std::vector<std::shared_ptr<AnswerRoom::Part>> more;
  for (int i = 0; i < 6; ++i) {
    more.push_back(room.begin(TenantId("t" + std::to_string(i))));
    EXPECT_TRUE(more.back()->need(1)) << "there is always some for one more";
  }
}

TEST(AnswerRoomTest, WhatIsHeldGrowsShrinksAndGoes) {
  auto room = std::make_unique<AnswerRoom>(800);
  auto one = room->begin(kAlice);
  EXPECT_TRUE(one->need(100));
  EXPECT_TRUE(one->check(400));
  EXPECT_FALSE(one->check(401));
  EXPECT_EQ(room->held(), 100U) << "asked is not taken";
  EXPECT_TRUE(one->need(400));
  EXPECT_TRUE(one->need(50));
  EXPECT_EQ(room->held(), 50U);
  one->hold(10'000);
  EXPECT_EQ(room->held(), 10'000U);
  EXPECT_TRUE(one->need(500)) << "less than it had";
  EXPECT_FALSE(room->begin(kAlice)->need(1));
  EXPECT_TRUE(room->begin(kBob)->need(150));
  one.reset();
  EXPECT_EQ(room->held(), 0U);
  one = room->begin(kAlice);
  EXPECT_TRUE(one->need(7));
  room.reset();
  one.reset();  // after it
}

}  // namespace
}  // namespace cay::core
