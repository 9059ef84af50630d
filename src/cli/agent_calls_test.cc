#include "cli/agent_calls.h"

#include <gtest/gtest.h>

namespace cay::cli {
namespace {

class CallBlocksTest : public ::testing::Test {
 protected:
  std::string shown() { return std::exchange(shown_, {}); }

  std::string shown_;
  CallBlocks blocks_{[this](std::string_view text) { shown_ += text; }, false};
};

TEST_F(CallBlocksTest, OutputIsLive) {
  blocks_.begin("1", "execute", R"({"command":"make"})");
  EXPECT_EQ(shown(), "* execute make\n");
  blocks_.output("1", "one\ntw");
  EXPECT_EQ(shown(), "    one\n");
  blocks_.output("1", "o\n");
  EXPECT_EQ(shown(), "    two\n");
  blocks_.end("1", {.text = "one\ntwo\n[Command failed with exit code 2]", .exit_code = 2});
  EXPECT_EQ(shown(), "    [exit code 2]\n");
}

TEST_F(CallBlocksTest, LongOutputIsBoundedInTheMiddle) {
  blocks_.begin("1", "execute", R"({"command":"seq 100"})");
  for (int i = 1; i <= 100; ++i) blocks_.output("1", std::to_string(i) + "\n");
  blocks_.end("1", {.exit_code = 0});
  const std::string got = shown();
  EXPECT_NE(got.find("    12\n    … 84 more lines\n    97\n"), std::string::npos) << got;
  EXPECT_TRUE(got.ends_with("    100\n")) << got;
}

TEST_F(CallBlocksTest, ALineWithoutAnEndTakesBoundedMemory) {
  blocks_.begin("1", "execute", R"({"command":"yes"})");
  for (int i = 0; i < 1000; ++i) blocks_.output("1", std::string(10'000, 'y'));
  blocks_.end("1", {.exit_code = 0});
  EXPECT_LT(shown().size(), 5000U);
}

TEST_F(CallBlocksTest, BlocksOfParallelCallsNeverMix) {
  blocks_.begin("1", "execute", R"({"command":"a"})");
  blocks_.begin("2", "execute", R"({"command":"b"})");
  blocks_.output("2", "from b\n");
  blocks_.output("1", "from a\n");
  blocks_.end("2", {.exit_code = 0});
  EXPECT_EQ(shown(), "* execute a\n    from a\n");
  blocks_.end("1", {.exit_code = 0});
  EXPECT_EQ(shown(), "* execute b\n    from b\n");
  EXPECT_TRUE(blocks_.empty());
}

TEST_F(CallBlocksTest, WithoutLiveOutputTheResultIsShown) {
  blocks_.begin("1", "execute", R"({"command":"a"})");
  blocks_.end("1", {.text = "hello\n[Command succeeded with exit code 0]", .exit_code = 0});
  EXPECT_EQ(shown(), "* execute a\n    hello\n    [Command succeeded with exit code 0]\n");
  blocks_.begin("2", "read_file", R"({"file_path":"/a"})");
  blocks_.end("2", {.text = "1  x\n2  y\n"});
  EXPECT_EQ(shown(), "* read_file /a\n    2 lines\n");
  blocks_.begin("3", "execute", "{");
  blocks_.end("3", {.failed = true, .text = "Error: malformed\nmore"});
  EXPECT_EQ(shown(), "* execute {\n    Error: malformed\n");
}

TEST_F(CallBlocksTest, ChangesOfFilesAreDiffs) {
  blocks_.begin("1", "edit_file",
                R"({"file_path":"/a","old_string":"x = 1\ny","new_string":"x = 2\ny"})");
  blocks_.end("1", {.text = "Successfully replaced 1 instance(s)"});
  EXPECT_EQ(shown(), "* edit_file /a\n    - x = 1\n    + x = 2\n      y\n");
  blocks_.begin("2", "write_file", R"({"file_path":"/b","content":"\u001b[2Jhi\n"})");
  EXPECT_EQ(shown(), "* write_file /b\n    + \\x1b[2Jhi\n");
}

TEST_F(CallBlocksTest, ColoursEndWhereTheyBegan) {
  CallBlocks coloured([this](std::string_view text) { shown_ += text; }, true);
  coloured.begin("1", "write_file", R"({"file_path":"/b","content":"hi"})");
  EXPECT_EQ(shown(), "\x1b[1m* write_file\x1b[0m /b\n    \x1b[32m+ hi\x1b[0m\n");
}

}  // namespace
}  // namespace cay::cli
