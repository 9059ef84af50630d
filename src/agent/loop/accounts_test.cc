// The account of a run with its subagents: limits, stops, kills and prices.
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

constexpr std::uint64_t kAnswer = 110;  // tokens of a fake answer

class AccountsTest : public AgentTest {
 protected:
  // The agent starts `count` subagents at once, and each of them loops for ever.
  void loops_below(int count) {
    tool("look", Repeat::kYes)->delay = Millis{1};
    answers([this, count](const ModelRequest& request) {
      if (on_answer) on_answer();
      if (request.messages.at(1).text() == "piece") return reply("", {call("", "look", "{}")});
      if (results_in(request) > 0) return reply("all done");
      std::vector<ToolCall> calls;
      for (int i = 0; i < count; ++i) {
        calls.push_back(call("c" + std::to_string(i), "task",
                             R"({"description":"piece","subagent_type":"general-purpose"})"));
      }
      return reply("", std::move(calls));
    });
  }
  // Returns the sum of all answers in the logs of the thread and of its subagents.
  Usage logged() {
    Usage out;
    auto log = ThreadLog::open(path_);
    const auto threads = *(*log)->list(true);
    for (const auto& thread : threads) {
      for (const auto& event : events(thread.id)) {
        if (event.type != "assistant_message") continue;
        const auto& usage = event.data.at("usage").as_object();
        out += {usage.at("input").to_number<std::uint64_t>(),
                usage.at("output").to_number<std::uint64_t>(), 0, 0};
      }
    }
    return out;
  }
  Spending account(const std::string& thread) { return replay(events(thread)).spent; }

  std::function<void()> on_answer;
};

TEST_F(AccountsTest, ParallelSubagentsShareTheLimitOfTokens) {
  constexpr std::uint64_t kLimit = 3000;
  constexpr int kAtOnce = 8;
  loops_below(kAtOnce);
  auto with = options();
  with.limits.tokens = kLimit;
  auto agent = open(with);
  const auto got = run(*agent, "go");
  EXPECT_EQ(got.state, RunState::kLimit);
  EXPECT_EQ(got.reason, "tokens");
  const auto total = got.usage.input + got.usage.output;
  EXPECT_GE(total, kLimit);
  EXPECT_LT(total, kLimit + kAtOnce * kAnswer) << "one answer of each running loop";
  EXPECT_EQ(got.usage, logged());
  // The next run of the thread has the limit for itself.
  const auto more = await(agent->resume(nullptr));
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->state, RunState::kDone) << more->message;
  EXPECT_EQ(account(got.thread).usage, logged());
}

TEST_F(AccountsTest, AStoppedRunHasTheTokensOfItsSubagents) {
  loops_below(3);
  auto agent = open(options());
  int answered = 0;
  on_answer = [&] {
    if (++answered == 20) asio::post(loop_, [&] { agent->cancel(); });
  };
  const auto got = run(*agent, "go");
  EXPECT_EQ(got.state, RunState::kCancelled);
  EXPECT_GT(got.usage.input, 1000U);
  EXPECT_EQ(got.usage, logged());
  const auto thread = agent->thread();
  EXPECT_EQ(events(thread).back().type, "run_ended");
  // A new input closes the calls. Their tokens stay in the thread's account.
  on_answer = {};
  const auto more = run(*agent, "never mind");
  EXPECT_EQ(more.state, RunState::kDone);
  EXPECT_EQ(more.usage.input, 100U) << "the answer of the new run alone";
  EXPECT_EQ(account(thread).usage, logged());
}

// The log of a process that was killed while subagents of two depths ran.
TEST_F(AccountsTest, AKilledRunHasTheTokensOfItsSubagentsWhenItGoesOn) {
  answers([](const ModelRequest& request) {
    if (results_in(request) > 0 || request.messages.at(1).text() == "xx") return reply("done");
    return reply("",
                 {call("c", "task", R"({"description":"xx","subagent_type":"general-purpose"})")});
  });
  auto with = options();
  with.subagent_depth = 2;
  const auto put = [&](ThreadLog& log, const std::string& id, const std::string& parent,
                       bool ended) {
    ASSERT_TRUE(log.create(parent, id));
    ASSERT_TRUE(log.lease(id));
    const auto add = [&](const char* type, codec::json::object data) {
      ASSERT_TRUE(log.append(id, type, std::move(data)));
    };
    add("thread_created", {{"model", "fake:model"}, {"system_prompt", ""}, {"provider", "cay"}});
    add("user_message", {{"message", to_json(Message::of(Role::kUser, "x"))}});
    add("run_started", {{"run", "r-" + id}});
    auto message = Message::of(Role::kAssistant, "");
    message.calls = {call("k", "task",
                          R"({"description":"xx","subagent_type":)"
                          R"("general-purpose"})")};
    add("assistant_message", {{"run", "r-" + id},
                              {"message", to_json(message)},
                              {"usage", to_json(Usage{100, 10, 0, 0})},
                              {"stop", "tool_calls"},
                              {"model", "fake"}});
    if (ended) return;
    add("tool_started", {{"run", "r-" + id},
                         {"call_id", "k"},
                         {"name", "task"},
                         {"execution_id", id + "x"},
                         {"attempt", 1}});
  };
  {
    auto log = *ThreadLog::open(path_);
    put(*log, "t", "", false);
    put(*log, "tx", "t", false);
    put(*log, "txx", "tx", true);
  }
  EXPECT_EQ(account("t").usage, (Usage{100, 10, 0, 0}));
  with.thread = "t";
  auto agent = open(with);
  EXPECT_EQ(account("t").usage, (Usage{300, 30, 0, 0})) << "both subagents";
  agent.reset();
  const auto before = events("t").size();
  agent = open(with);
  EXPECT_EQ(events("t").size(), before) << "nothing is recorded twice";
  const auto got = await(agent->resume(nullptr));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->state, RunState::kDone) << got->message;
  EXPECT_EQ(got->usage, logged()) << "it is the same run";
  EXPECT_EQ(account("t").usage, logged());
}

TEST_F(AccountsTest, ALimitOfTheCostNeedsPricesAndHoldsForSubagents) {
  constexpr int kAtOnce = 4;
  loops_below(kAtOnce);
  auto with = options();
  with.limits.cost = 0.01;
  auto refused = await(Agent::open(loop_.get_executor(), with));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "no_prices");
  EXPECT_NE(refused.error().message.find("--input-price"), std::string::npos);

  model_->facts.prices = Prices{.input = 2, .output = 30};
  const double answer = (100 * 2 + 10 * 30) / 1e6;
  auto agent = open(with);
  const auto got = run(*agent, "go");
  EXPECT_EQ(got.reason, "cost") << got.message;
  ASSERT_TRUE(got.cost);
  EXPECT_GE(*got.cost, 0.01 - 1e-9);
  EXPECT_LT(*got.cost, 0.01 + kAtOnce * answer);
  EXPECT_NEAR(*got.cost, static_cast<double>(logged().input) / 100 * answer, 1e-9);
  agent.reset();

  with.subagents.push_back({.name = "other", .description = "d", .system_prompt = "p"});
  with.subagents.back().model = ModelSettings{.model = "openai:other"};
  refused = await(Agent::open(loop_.get_executor(), with));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("subagent other"), std::string::npos);
}

}  // namespace
}  // namespace cay::agent
