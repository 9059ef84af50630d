#include "cli/agent_diff.h"

#include <gtest/gtest.h>

namespace cay::cli {
namespace {

std::string shown(const std::vector<DiffLine>& diff) {
  std::string out;
  for (const DiffLine& line : diff) out += line.kind + std::string(line.text) + "\n";
  return out;
}

TEST(AgentDiffTest, HasTheFewestChanges) {
  EXPECT_EQ(shown(line_diff("a\nb\nc\n", "a\nx\nc\n")), " a\n-b\n+x\n c\n");
  EXPECT_EQ(shown(line_diff("", "a\n")), "+a\n");
  EXPECT_EQ(shown(line_diff("a\n", "")), "-a\n");
  EXPECT_EQ(shown(line_diff("a\nb\n", "b\na\n")), "-a\n b\n+a\n");
  EXPECT_EQ(shown(line_diff("same", "same")), " same\n");
}

TEST(AgentDiffTest, HunksLeaveOutWhatStays) {
  std::string before, after;
  for (int i = 0; i < 20; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 3 || i == 15 ? "x" : std::to_string(i)) + "\n";
  }
  EXPECT_EQ(shown(hunks(line_diff(before, after), 1)), " 2\n-3\n+x\n 4\n …\n 14\n-15\n+x\n 16\n");
  EXPECT_TRUE(hunks(line_diff("a", "a"), 1).empty());
}

TEST(AgentDiffTest, LongTextsAreCompared) {
  std::string before, after;
  for (int i = 0; i < 5000; ++i) before += "a" + std::to_string(i) + "\n";
  for (int i = 0; i < 5000; ++i) after += "b" + std::to_string(i) + "\n";
  EXPECT_EQ(line_diff("same\n" + before, "same\n" + after).size(), 10001U);
}

}  // namespace
}  // namespace cay::cli
