#include "agent/threads/replay.h"

#include <gtest/gtest.h>

namespace cay::agent {
namespace {

// Builds a log event by event.
class ReplayTest : public ::testing::Test {
 protected:
  void add(std::string type, codec::json::object data = {}) {
    events_.push_back({events_.size() + 1, std::move(type), 0, std::move(data)});
  }
  void user(const std::string& text) {
    add("user_message", {{"message", to_json(Message::of(Role::kUser, text))}});
  }
  void assistant(const std::string& text, std::vector<ToolCall> calls = {}) {
    auto message = Message::of(Role::kAssistant, text);
    message.calls = std::move(calls);
    add("assistant_message",
        {{"message", to_json(message)}, {"usage", {{"input", 10}, {"output", 2}}}, {"cost", 0.5}});
  }
  void result(const std::string& id, const std::string& text) {
    auto message = Message::of(Role::kTool, text);
    message.call_id = id;
    add("tool_ended", {{"call_id", id}, {"message", to_json(message)}});
  }
  ThreadState state() const { return replay(events_); }
  std::vector<ThreadEvent> events_;
};

TEST_F(ReplayTest, ResultsEnterTheConversationInTheCallsOrder) {
  user("go");
  assistant("", {{"a", "x", "{}"}, {"b", "y", "{}"}});
  add("tool_started", {{"call_id", "b"}, {"execution_id", "e"}, {"attempt", 1}});
  result("b", "second");
  EXPECT_EQ(state().conversation.size(), 2U);
  ASSERT_EQ(state().calls.size(), 2U);
  EXPECT_TRUE(state().calls[1].started);
  EXPECT_FALSE(state().calls[0].started);
  result("a", "first");
  const auto done = state();
  EXPECT_TRUE(done.calls.empty());
  ASSERT_EQ(done.conversation.size(), 4U);
  EXPECT_EQ(done.conversation[2].message.text(), "first");
  EXPECT_EQ(done.conversation[3].message.text(), "second");
  EXPECT_EQ(done.conversation[3].seq, 2U) << "a cut never parts a call from its result";
}

TEST_F(ReplayTest, ARewindKeepsTheCostAndTheSandbox) {
  user("one");
  add("run_started", {{"run", "r1"}});
  assistant("first");
  add("run_ended", {{"state", "done"}});
  user("two");
  add("sandbox_bound", {{"provider", "p"}, {"id", "box"}, {"claim", "c"}});
  assistant("second");
  add("rewound", {{"to_seq", 4}});
  user("three");
  const auto got = state();
  ASSERT_EQ(got.conversation.size(), 3U);
  EXPECT_EQ(got.conversation[2].message.text(), "three");
  EXPECT_EQ(got.text, "") << "the new input has no answer";
  EXPECT_DOUBLE_EQ(got.spent.cost, 1.0);
  EXPECT_EQ(got.spent.usage.input, 20U);
  EXPECT_EQ(got.sandbox->id, "box");
  EXPECT_TRUE(got.open()) << "an input without an answer";
}

codec::json::object spent_of(const char* thread, int input, double cost) {
  return {{"thread", thread}, {"usage", {{"input", input}, {"output", 1}}}, {"cost", cost}};
}

TEST_F(ReplayTest, ASubagentIsInTheAccountOnce) {
  user("go");
  add("run_started", {{"run", "r1"}});
  assistant("", {{"a", "task", "{}"}});
  add("tool_started", {{"call_id", "a"}, {"execution_id", "child"}, {"attempt", 1}});
  add("subagent_spent", spent_of("child", 100, 1.0));
  add("run_ended", {{"state", "cancelled"}});
  EXPECT_EQ(state().run.spent.usage, (Usage{110, 3, 0, 0}));
  EXPECT_DOUBLE_EQ(state().run.spent.cost, 1.5);
  add("run_started", {{"run", "r2"}});
  auto message = Message::of(Role::kTool, "the piece");
  message.call_id = "a";
  add("tool_ended", {{"call_id", "a"},
                     {"message", to_json(message)},
                     {"artifact", spent_of("child", 160, 1.75)}});
  const auto got = state();
  EXPECT_EQ(got.spent.usage, (Usage{170, 3, 0, 0})) << "the subagent's whole usage, once";
  EXPECT_EQ(got.run.spent.usage, (Usage{60, 0, 0, 0})) << "the second run has the rest";
  EXPECT_DOUBLE_EQ(got.spent.cost, 2.25);
  EXPECT_DOUBLE_EQ(got.run.spent.cost, 0.75);
}

TEST_F(ReplayTest, ARunIsOpenUntilItsEnd) {
  EXPECT_FALSE(state().open());
  user("one");
  EXPECT_TRUE(state().open());
  add("run_started", {{"run", "r1"}});
  assistant("first");
  EXPECT_TRUE(state().open());
  EXPECT_EQ(state().run.steps, 1U);
  add("run_ended", {{"state", "waiting"}});
  EXPECT_FALSE(state().open());
  EXPECT_TRUE(state().waiting());
  add("run_started", {{"run", "r1"}});
  EXPECT_EQ(state().run.steps, 1U) << "the same run goes on";
  add("run_started", {{"run", "r2"}});
  EXPECT_EQ(state().run.steps, 0U);
}

TEST_F(ReplayTest, AForkHasNoSandboxAndCallsOfUnknownOutcome) {
  add("sandbox_bound", {{"provider", "p"}, {"id", "box"}, {"claim", "c"}});
  user("go");
  assistant("", {{"a", "x", "{}"}, {"b", "y", "{}"}});
  add("tool_started", {{"call_id", "a"}, {"execution_id", "e"}, {"attempt", 1}});
  add("forked", {{"from", "t"}, {"to_seq", 4}});
  const auto got = state();
  EXPECT_FALSE(got.sandbox);
  EXPECT_EQ(got.fork_of, "box");
  EXPECT_TRUE(got.calls[0].unknown);
  EXPECT_FALSE(got.calls[1].unknown);
}

TEST_F(ReplayTest, OneEventAfterTheOtherGivesTheSameState) {
  user("go");
  add("run_started", {{"run", "r1"}});
  assistant("", {{"a", "x", "{\"k\":1}"}});
  add("approval_requested", {{"calls", {{{"call_id", "a"}}}}});
  add("approval_given",
      {{"decisions", {{{"call_id", "a"}, {"type", "edit"}, {"arguments", "{\"k\":2}"}}}}});
  result("a", "done");
  ThreadState live;
  for (const auto& event : events_) apply(live, event);
  const auto whole = state();
  ASSERT_EQ(live.conversation.size(), whole.conversation.size());
  for (std::size_t i = 0; i < live.conversation.size(); ++i) {
    EXPECT_EQ(live.conversation[i].message, whole.conversation[i].message);
  }
  EXPECT_EQ(live.conversation[1].message.calls[0].arguments, "{\"k\":2}");
  EXPECT_EQ(live.counted_tokens, 12U);
}

TEST_F(ReplayTest, EventsOfANewerProgramAreIgnored) {
  user("go");
  add("something_new", {{"a", 1}});
  assistant("yes");
  EXPECT_EQ(state().conversation.size(), 2U);
  EXPECT_EQ(state().last_seq, 3U);
}

}  // namespace
}  // namespace cay::agent
