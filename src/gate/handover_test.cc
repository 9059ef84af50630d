#include "gate/handover.h"

#include <gtest/gtest.h>

namespace cay::gate {
namespace {

TEST(FramesTest, AFrameIsTakenWhenAllOfItIsHere) {
  const std::string whole = framed("one") + framed("") + framed("three");
  std::string have;
  std::vector<std::string> got;
  for (const char c : whole) {
    have.push_back(c);
    for (;;) {
      auto frame = take_frame(have);
      ASSERT_TRUE(frame);
      if (!*frame) break;
      got.push_back(**frame);
    }
  }
  EXPECT_EQ(got, (std::vector<std::string>{"one", "", "three"}));
  EXPECT_TRUE(have.empty());
}

TEST(FramesTest, ALengthThatNobodyMeansIsAnError) {
  std::string have("\xff\xff\xff\x7f", 4);
  EXPECT_FALSE(take_frame(have));
}

}  // namespace
}  // namespace cay::gate
