// Sandboxes of a subagent's own: found again after a kill, kept for a resume, and removed.
#include "agent/loop/subagent_sandboxes.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>

#include "agent/loop/testing/agent_test_base.h"
#include "agent/threads/replay.h"

namespace cay::agent {
namespace {

using testing::AgentTest;
using testing::call;
using testing::reply;
using testing::results_in;

// Cancels the agent when a tool of this name begins.
class StopAt : public Observer {
 public:
  StopAt(Agent& agent, asio::io_context& loop, std::string tool)
      : agent_(agent), loop_(loop), tool_(std::move(tool)) {}
  void on_event(const std::string&, const ThreadEvent& event) override {
    if (event.type != "tool_started" || event.data.at("name").as_string() != tool_) return;
    asio::post(loop_, [this] { agent_.cancel(); });
  }

 private:
  Agent& agent_;
  asio::io_context& loop_;
  std::string tool_;
};

class SubagentSandboxesTest : public AgentTest {
 protected:
  void SetUp() override {
    slow_ = tool("slow", Repeat::kYes);
    answers([](const ModelRequest& request) {
      const bool child = request.messages.at(1).text() == "piece";
      if (results_in(request) > 0) return reply(child ? "the piece" : "done");
      if (child) return reply("", {call("k", "slow", "{}")});
      return reply("", {call("c", "task", R"({"description":"piece","subagent_type":"copy"})")});
    });
  }
  AgentOptions with_copies() {
    auto out = options();
    out.subagents.push_back({.name = "copy",
                             .description = "d",
                             .system_prompt = "p",
                             .sandbox = SubagentSpec::Sandbox::kForked});
    return out;
  }
  RunResult stopped(Agent& agent) {
    slow_->delay = Millis{60'000};
    StopAt observer(agent, loop_, "slow");
    auto got = await(agent.run("go", &observer));
    slow_->delay = Millis{0};
    EXPECT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->state, RunState::kCancelled);
    return got ? *got : RunResult{};
  }

  std::shared_ptr<testing::FakeTool> slow_;
  const std::vector<std::string> fork_{"box-1-fork"};
};

TEST_F(SubagentSandboxesTest, ACopyThatAKillLeftIsFoundAgain) {
  auto agent = open(with_copies());
  provider_->fails_after_fork = true;
  const auto got = run(*agent, "go");
  EXPECT_EQ(got.state, RunState::kFailed);
  const auto child = got.thread + "-6-0";
  const auto state = replay(events(child));
  ASSERT_TRUE(state.requested) << "the log has it before it is there";
  EXPECT_EQ(state.requested->claim, "thread:" + child);
  EXPECT_EQ(state.requested->source, "box-1");
  EXPECT_FALSE(state.sandbox);
  provider_->fails_after_fork = false;
  const auto more = await(agent->resume(nullptr));
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->state, RunState::kDone) << more->message;
  const std::vector<std::string> twice(2, "thread:" + child);
  EXPECT_EQ(provider_->forks, twice) << "the provider returns the same one";
  EXPECT_EQ(provider_->removed, fork_);
  EXPECT_EQ(replay(events(child)).sandbox->claim, "thread:" + child);
}

TEST_F(SubagentSandboxesTest, AStopKeepsItForTheResume) {
  auto agent = open(with_copies());
  stopped(*agent);
  EXPECT_TRUE(provider_->removed.empty());
  const auto more = await(agent->resume(nullptr));
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->text, "done");
  EXPECT_EQ(provider_->forks.size(), 1U);
  EXPECT_EQ(provider_->removed, fork_);
}

TEST_F(SubagentSandboxesTest, ANewInputAfterAStopRemovesIt) {
  auto agent = open(with_copies());
  stopped(*agent);
  EXPECT_EQ(run(*agent, "never mind").state, RunState::kDone);
  EXPECT_EQ(provider_->removed, fork_);
  run(*agent, "once more");
  EXPECT_EQ(provider_->removed.size(), 1U) << "its call is closed";
}

TEST_F(SubagentSandboxesTest, ItGoesWithTheSandboxOfItsAgent) {
  auto agent = open(with_copies());
  stopped(*agent);
  ASSERT_TRUE(await(agent->remove_sandbox()));
  EXPECT_EQ(provider_->removed, (std::vector<std::string>{"box-1-fork", "box-1"}));
}

TEST_F(SubagentSandboxesTest, ACopyThatWasNeverBoundIsRemovedToo) {
  auto agent = open(with_copies());
  provider_->fails_after_fork = true;
  run(*agent, "go");
  provider_->fails_after_fork = false;
  EXPECT_EQ(run(*agent, "never mind").state, RunState::kDone);
  EXPECT_EQ(provider_->removed, fork_);
}

}  // namespace
}  // namespace cay::agent
