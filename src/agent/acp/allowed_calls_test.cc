#include "agent/acp/allowed_calls.h"

#include <gtest/gtest.h>

namespace cay::agent::acp {
namespace {

ToolCall execute(const std::string& command) {
  return {"1", "execute", codec::write(codec::json::object{{"command", command}})};
}

ToolCall on_file(const std::string& tool, const std::string& path) {
  const char* name = tool == "ls" ? "path" : "file_path";
  return {"1", tool, codec::write(codec::json::object{{name, path}, {"content", "x"}})};
}

TEST(AllowedCallsTest, ACommandIsAllowedAsItIs) {
  AllowedCalls allowed;
  EXPECT_FALSE(allowed.covers(execute("git status")));
  allowed.add(execute("git status"));
  EXPECT_TRUE(allowed.covers(execute("git status")));
  EXPECT_TRUE(allowed.covers({"2", "execute", R"({ "command" : "git status" })"}));
  for (const char* command : {"git push", "git status; rm -rf /", "git status\nreboot", "git"}) {
    EXPECT_FALSE(allowed.covers(execute(command))) << command;
  }
  EXPECT_FALSE(allowed.covers({"2", "execute", R"({"command":"git status","timeout":9})"}));
  EXPECT_EQ(AllowedCalls::option_name(execute("git status")), "Always allow this exact command");
}

TEST(AllowedCallsTest, AFileToolIsAllowedInItsFolder) {
  AllowedCalls allowed;
  allowed.add(on_file("write_file", "/work/src/a.py"));
  EXPECT_EQ(AllowedCalls::option_name(on_file("write_file", "/work/src/a.py")),
            "Always allow write_file in /work/src");
  EXPECT_TRUE(allowed.covers(on_file("write_file", "/work/src/b.py")));
  EXPECT_TRUE(allowed.covers(on_file("write_file", "/work/src/deep/er/c")));
  for (const char* path :
       {"/work/a.py", "/work/src2/a", "/work/src", "/etc/passwd", "/work/src/../x", "/work/src/./x",
        "//work/src/x", "work/src/x", "/work/src/"}) {
    EXPECT_FALSE(allowed.covers(on_file("write_file", path))) << path;
  }
  EXPECT_FALSE(allowed.covers(on_file("delete", "/work/src/b.py"))) << "another tool";
  allowed.add(on_file("ls", "/work"));
  EXPECT_TRUE(allowed.covers(on_file("ls", "/work/src")));
  EXPECT_FALSE(allowed.covers(on_file("ls", "/")));
}

TEST(AllowedCallsTest, TheRootAndOtherToolsAreAllowedAsTheyAre) {
  AllowedCalls allowed;
  allowed.add(on_file("write_file", "/a"));
  EXPECT_TRUE(allowed.covers(on_file("write_file", "/a")));
  EXPECT_FALSE(allowed.covers(on_file("write_file", "/b")));
  const ToolCall search{"1", "grep", R"({"pattern":"x","path":"/work"})"};
  allowed.add(search);
  EXPECT_TRUE(allowed.covers(search));
  EXPECT_FALSE(allowed.covers({"2", "grep", R"({"pattern":"y","path":"/work"})"}));
  EXPECT_EQ(AllowedCalls::option_name(search), "Always allow grep with these exact arguments");
}

}  // namespace
}  // namespace cay::agent::acp
