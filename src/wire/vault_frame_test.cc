#include "wire/vault_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cay::wire {
namespace {

TEST(VaultFrameTest, AFrameIsTakenWhenAllOfItIsHere) {
  const std::string whole = vault_frame("one") + vault_frame("") + vault_frame("three");
  std::string have;
  std::vector<std::string> got;
  for (const char c : whole) {
    have.push_back(c);
    for (;;) {
      auto frame = take_vault_frame(have);
      ASSERT_TRUE(frame);
      if (!*frame) break;
      got.push_back(**frame);
    }
  }
  EXPECT_EQ(got, (std::vector<std::string>{"one", "", "three"}));
  EXPECT_TRUE(have.empty());
}

TEST(VaultFrameTest, ALengthThatNobodyMeansIsAnError) {
  std::string have("\xff\xff\xff\x7f", 4);
  EXPECT_FALSE(take_vault_frame(have));
}

}  // namespace
}  // namespace cay::wire
