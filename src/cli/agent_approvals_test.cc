#include "cli/agent_approvals.h"

#include <gtest/gtest.h>

#include <deque>

namespace cay::cli {
namespace {

using Type = agent::Decision::Type;

class ApprovalsTest : public ::testing::Test {
 protected:
  std::optional<std::vector<agent::Decision>> ask(std::deque<std::string> lines) {
    lines_ = std::move(lines);
    shown_.clear();
    return ask_decisions({call_}, {.read_line =
                                       [this](const std::string& prompt) {
                                         shown_ += prompt;
                                         std::optional<std::string> line;
                                         if (lines_.empty()) return line;
                                         line = lines_.front();
                                         lines_.pop_front();
                                         return line;
                                       },
                                   .note = [this](std::string_view text) { shown_ += text; }});
  }

  agent::PendingCall call_{"c1", "execute", R"({"command":"rm -r /x","timeout":5})"};
  std::deque<std::string> lines_;
  std::string shown_;
};

TEST_F(ApprovalsTest, TheWholeCommandIsShownAndApproved) {
  call_.arguments = R"({"command":"echo one\n\u001b[2Jecho two"})";
  const auto got = ask({"a"});
  ASSERT_TRUE(got && got->size() == 1);
  EXPECT_EQ(got->front().type, Type::kApprove);
  EXPECT_EQ(got->front().seen, call_.arguments);
  EXPECT_TRUE(shown_.starts_with("? execute\n    echo one\n    \\x1b[2Jecho two\n")) << shown_;
}

TEST_F(ApprovalsTest, EveryKindOfDecision) {
  auto got = ask({"r", "not now"});
  EXPECT_EQ(got->front().type, Type::kReject);
  EXPECT_EQ(got->front().message, "not now");
  got = ask({"s", "it is done already"});
  EXPECT_EQ(got->front().type, Type::kRespond);
  EXPECT_EQ(got->front().message, "it is done already");
  got = ask({"e", "ls /x"});
  EXPECT_EQ(got->front().type, Type::kEdit);
  EXPECT_EQ(got->front().arguments, R"({"command":"ls /x","timeout":5})");
}

TEST_F(ApprovalsTest, OtherToolsAreEditedAsJson) {
  call_ = {"c1", "write_file", R"({"file_path":"/a"})"};
  const auto got = ask({"e", "{", R"({"file_path":"/b"})"});
  EXPECT_EQ(got->front().arguments, R"({"file_path":"/b"})");
}

TEST_F(ApprovalsTest, NothingElseIsAnAnswer) {
  EXPECT_FALSE(ask({"", "yes", "A"})) << "the input ended, and nothing was approved";
  EXPECT_EQ(ask({"?", "a"})->front().type, Type::kApprove);
  EXPECT_NE(shown_.find("run it as it is"), std::string::npos);
}

}  // namespace
}  // namespace cay::cli
