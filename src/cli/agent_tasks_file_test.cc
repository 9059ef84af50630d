#include "cli/agent_tasks_file.h"

#include <gtest/gtest.h>

namespace cay::cli {
namespace {

TEST(AgentTasksFileTest, ATaskALine) {
  const auto tasks = parse_tasks(
      R"({"id":"a-1","prompt":"do","files":{"/in":"x"},"collect":["/out"],"max_steps":3,)"
      R"("timeout":1.5,"model":"openai:m"})"
      "\n\n  \n"
      R"({"prompt":"again"})");
  ASSERT_TRUE(tasks) << tasks.error().message;
  ASSERT_EQ(tasks->size(), 2U);
  EXPECT_EQ(tasks->at(0).id, "a-1");
  EXPECT_EQ(tasks->at(0).files.at(0).first, "/in");
  EXPECT_EQ(tasks->at(0).collect, std::vector<std::string>{"/out"});
  EXPECT_EQ(tasks->at(0).max_steps, 3U);
  EXPECT_EQ(tasks->at(0).timeout_s, 1.5);
  EXPECT_EQ(tasks->at(1).id, "task-4") << "the number of its line";
}

TEST(AgentTasksFileTest, ErrorsNameTheLine) {
  for (const char* wrong :
       {"", "\n", "{", "[]", R"({"id":"a"})", R"({"id":"../a","prompt":"x"})",
        R"({"id":".a","prompt":"x"})", R"({"id":"a/b","prompt":"x"})",
        R"({"prompt":"x","collect":["out"]})", R"({"prompt":"x","collect":"/out"})",
        R"({"prompt":"x","files":{"in":"x"}})", R"({"prompt":"x","unknown":1})", R"({"prompt":1})",
        R"({"prompt":"x","timeout":-1})",
        "{\"id\":\"a\",\"prompt\":\"x\"}\n{\"id\":\"a\",\"prompt\":\"y\"}"}) {
    const auto got = parse_tasks(wrong);
    ASSERT_FALSE(got) << wrong;
    EXPECT_EQ(got.error().reason, "invalid_task");
  }
  const auto got = parse_tasks("{\"prompt\":\"x\"}\n{}");
  EXPECT_EQ(got.error().message, "line 2: `prompt` is missing");
}

}  // namespace
}  // namespace cay::cli
