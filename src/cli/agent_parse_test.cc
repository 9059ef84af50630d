#include <gtest/gtest.h>

#include "cli/agent_args.h"
#include "cli/parse.h"

namespace cay::cli {
namespace {

Parsed parsed(std::vector<std::string> args) {
  args.insert(args.begin(), "agent");
  return parse(args, {});
}

AgentArgs args_of(std::vector<std::string> args) {
  const auto got = parsed(std::move(args));
  EXPECT_TRUE(got.invocation.has_value()) << got.err;
  return got.invocation ? std::any_cast<AgentArgs>(got.invocation->args) : AgentArgs{};
}

TEST(AgentParseTest, ATaskIsOneWord) {
  EXPECT_EQ(args_of({"Do it"}).task, "Do it");
  EXPECT_EQ(args_of({"-"}).task, "-");
  EXPECT_EQ(args_of({"show me the files"}).task, "show me the files");
  EXPECT_FALSE(parsed({"Do", "it"}).invocation);
  EXPECT_FALSE(parsed({""}).invocation);
}

TEST(AgentParseTest, ResumeTakesAThreadOrNone) {
  auto got = args_of({"--resume"});
  EXPECT_TRUE(got.resume);
  EXPECT_EQ(got.resumed, "");
  got = args_of({"--resume", "t1", "go on"});
  EXPECT_EQ(got.resumed, "t1");
  EXPECT_EQ(got.task, "go on");
  got = args_of({"--resume", "what has spaces is a task"});
  EXPECT_TRUE(got.resume);
  EXPECT_EQ(got.resumed, "");
  EXPECT_EQ(got.task, "what has spaces is a task");
  got = args_of({"--resume", "t1", "--decide", "approve"});
  EXPECT_EQ(got.decide, std::vector<std::string>{"approve"});
  EXPECT_FALSE(parsed({"--decide", "approve", "x"}).invocation);
  EXPECT_FALSE(parsed({"--resume", "t1", "--thread", "t2"}).invocation);
}

TEST(AgentParseTest, ActionsHaveTheirOwnWords) {
  EXPECT_EQ(args_of({"threads"}).action, "threads");
  EXPECT_EQ(args_of({"rewind", "t1", "5"}).words, (std::vector<std::string>{"t1", "5"}));
  EXPECT_EQ(args_of({"rm", "t1", "t2"}).words.size(), 2U);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"show"},
                                                {"show", "a", "b"},
                                                {"rewind", "a"},
                                                {"threads", "a"},
                                                {"threads", "--acp"}})
    EXPECT_FALSE(parsed(wrong).invocation) << wrong.front();
}

TEST(AgentParseTest, LimitsAndFiles) {
  const auto got = args_of({"--tasks", "f.jsonl", "--parallel", "8", "-o", "out", "--max-cost",
                            "0.5", "--timeout", "2m", "--max-steps", "9"});
  EXPECT_EQ(got.tasks, "f.jsonl");
  EXPECT_EQ(got.parallel, 8U);
  EXPECT_EQ(got.output, "out");
  EXPECT_EQ(got.limits.cost, 0.5);
  EXPECT_EQ(got.limits.timeout_s, 120);
  EXPECT_EQ(got.limits.steps, 9U);
  EXPECT_FALSE(parsed({"--tasks", "f", "x"}).invocation);
  EXPECT_FALSE(parsed({"--id", "box", "--image", "python:3.12", "x"}).invocation);
  EXPECT_FALSE(parsed({"--id", "box", "--rm", "x"}).invocation);
  EXPECT_FALSE(parsed({"--approve", "sometimes", "x"}).invocation);
}

}  // namespace
}  // namespace cay::cli
