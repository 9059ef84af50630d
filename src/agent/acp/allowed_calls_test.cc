#include "agent/acp/allowed_calls.h"

#include <gtest/gtest.h>

namespace cay::agent::acp {
namespace {

ToolCall execute(const std::string& command) {
  return {"1", "execute", codec::write(codec::json::object{{"command", command}})};
}

TEST(AllowedCallsTest, CoversTheSameToolAndProgramAlone) {
  AllowedCalls allowed;
  EXPECT_FALSE(allowed.covers(execute("git status")));
  allowed.add(execute("git status"));
  EXPECT_TRUE(allowed.covers(execute("git log -3")));
  EXPECT_FALSE(allowed.covers(execute("rm -r x")));
  EXPECT_FALSE(allowed.covers({"2", "write_file", "{}"}));
  allowed.add({"2", "write_file", "{}"});
  EXPECT_TRUE(allowed.covers({"3", "write_file", R"({"file_path":"/b"})"}));
}

TEST(AllowedCallsTest, NeverCoversALineOfSeveralCommands) {
  AllowedCalls allowed;
  allowed.add(execute("git status"));
  for (const char* command : {"git status; rm -rf /", "git status && ls", "git $(reboot)",
                              "git status\nreboot", "git log > /etc/passwd", "git \"x\""}) {
    EXPECT_FALSE(allowed.covers(execute(command))) << command;
  }
  allowed.add(execute("ls | wc"));
  EXPECT_FALSE(allowed.covers(execute("ls | wc"))) << "what has no kind is asked for each time";
}

}  // namespace
}  // namespace cay::agent::acp
