#include "agent/loop/agent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <set>

#include "agent/loop/loop.h"
#include "agent/loop/testing/agent_test_base.h"
#include "agent/threads/replay.h"

namespace cay::agent {
namespace {

using testing::AgentTest;
using testing::call;
using testing::FakeModel;
using testing::reply;
using testing::results_in;
using testing::results_of;

TEST_F(AgentTest, ARunIsInTheLogStepByStep) {
  tool("look", Repeat::kYes);
  answers([](const ModelRequest& request) {
    if (results_in(request) == 0) return reply("I look.", {call("c1", "look", "{}")});
    return reply("It is there.");
  });
  auto agent = open(options());
  const auto got = run(*agent, "Is it there?");
  EXPECT_EQ(got.state, RunState::kDone);
  EXPECT_EQ(got.text, "It is there.");
  EXPECT_EQ(got.steps, 2U);
  EXPECT_EQ(got.usage, (Usage{200, 20, 0, 0}));
  EXPECT_FALSE(got.cost);
  const std::vector<std::string> expected{"thread_created",    "sandbox_bound", "user_message",
                                          "run_started",       "model_called",  "assistant_message",
                                          "tool_started",      "tool_ended",    "model_called",
                                          "assistant_message", "run_ended"};
  EXPECT_EQ(types(got.thread), expected);
  EXPECT_EQ(model_->requests.back().messages.front().text().substr(0, 9), "Be brief.");
}

TEST_F(AgentTest, ResultsOfParallelCallsAreInTheCallsOrder) {
  tool("slow", Repeat::kYes)->delay = Millis{30};
  tool("fast", Repeat::kYes);
  answers([](const ModelRequest& request) {
    if (results_in(request) > 0) return reply("done");
    return reply("", {call("c1", "slow", "{}"), call("c2", "fast", "{}")});
  });
  auto agent = open(options());
  const auto got = run(*agent, "both");
  const auto results = results_of(model_->requests.back());
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].text(), "result of slow");
  EXPECT_EQ(results[1].text(), "result of fast");
  ASSERT_EQ(world_->order.size(), 2U);
  EXPECT_TRUE(world_->order[0].ends_with("-1")) << world_->order[0];
}

TEST_F(AgentTest, CallsThatCannotRunGetAResultThatSaysWhy) {
  tool("look", Repeat::kYes);
  answers([](const ModelRequest& request) {
    if (results_in(request) > 0) return reply("done");
    return reply(
        "", {call("c1", "look", "{\"a\":"), call("c2", "fly", "{}"), call("c2", "look", "{}")});
  });
  auto agent = open(options());
  run(*agent, "go");
  const auto results = results_of(model_->requests.back());
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0].text(),
            "Tool call look with id c1 could not be executed - arguments were malformed or "
            "truncated.");
  EXPECT_TRUE(results[0].failed);
  EXPECT_TRUE(results[1].text().starts_with("Error: fly is not a valid tool, try one of [look"));
  EXPECT_EQ(results[2].text(), "result of look");
  EXPECT_NE(results[2].call_id, "c2") << "an id is used once";
}

TEST_F(AgentTest, LimitsEndARunAndAnotherGoesOn) {
  tool("look", Repeat::kYes);
  answers([](const ModelRequest&) { return reply("more", {call("", "look", "{}")}); });
  auto with = options();
  with.limits.steps = 3;
  auto agent = open(with);
  auto got = run(*agent, "loop");
  EXPECT_EQ(got.state, RunState::kLimit);
  EXPECT_EQ(got.reason, "steps");
  EXPECT_EQ(got.steps, 3U);
  auto more = await(agent->resume(nullptr));
  ASSERT_TRUE(more);
  EXPECT_EQ(more->steps, 3U) << "a new run";
  agent.reset();
  with.limits = {};
  with.limits.tokens = 250;
  agent = open(with);
  got = run(*agent, "loop");
  EXPECT_EQ(got.reason, "tokens");
  EXPECT_EQ(got.steps, 3U);
}

TEST_F(AgentTest, TheTimeLimitAndACancelEndARunInMidStream) {
  answers([](const ModelRequest&) { return reply("late"); });
  model_->endless = true;
  auto with = options();
  with.limits.time = Millis{20};
  auto agent = open(with);
  auto got = run(*agent, "wait");
  EXPECT_EQ(got.state, RunState::kLimit);
  EXPECT_EQ(got.reason, "time");
  agent.reset();
  with.limits = {};
  agent = open(with);
  class Canceller : public Observer {
   public:
    explicit Canceller(Agent& agent, asio::io_context& loop) : agent_(agent), loop_(loop) {}
    void on_event(const std::string&, const ThreadEvent& event) override {
      if (event.type == "model_called") asio::post(loop_, [this] { agent_.cancel(); });
    }

   private:
    Agent& agent_;
    asio::io_context& loop_;
  } canceller(*agent, loop_);
  auto cancelled = await(agent->run("wait", &canceller));
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->state, RunState::kCancelled);
  EXPECT_EQ(events(agent->thread()).back().type, "run_ended");
  model_->endless = false;
  auto resumed = await(agent->resume(nullptr));
  ASSERT_TRUE(resumed);
  EXPECT_EQ(resumed->text, "late");
}

TEST_F(AgentTest, AFailureOfTheModelEndsTheRunWithItsReason) {
  bool up = false;
  answers([&](const ModelRequest&) -> Result<ModelReply> {
    if (!up) return Error{Code::kUnavailable, "model_unreachable", "nobody answers", 0};
    return reply("here");
  });
  auto agent = open(options());
  const auto got = run(*agent, "hello");
  EXPECT_EQ(got.state, RunState::kFailed);
  EXPECT_EQ(got.reason, "model_unreachable");
  up = true;
  const auto again = await(agent->resume(nullptr));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text, "here");
  const auto more = await(agent->resume(nullptr));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().reason, "nothing_to_resume");
}

TEST_F(AgentTest, OneProcessAtATimeRunsAThread) {
  answers([](const ModelRequest&) { return reply("hi"); });
  auto agent = open(options());
  auto with = options();
  with.thread = agent->thread();
  const auto second = await(Agent::open(loop_.get_executor(), with));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, "thread_busy");
  agent.reset();
  EXPECT_TRUE(await(Agent::open(loop_.get_executor(), with)));
}

// Decisions of another process, in a thread that waits.
class ApprovalTest : public AgentTest {
 protected:
  void SetUp() override {
    tool("execute", Repeat::kNo, [this](const auto& arguments, const auto&) {
      ran_.push_back(std::string(arguments.at("command").as_string()));
      return ToolResult::of("ran");
    });
    tool("look", Repeat::kYes);
    answers([](const ModelRequest& request) {
      if (results_in(request) > 0) return reply("done");
      return reply("", {call("c1", "execute", R"({"command":"rm x"})"), call("c2", "look", "{}")});
    });
    rules_ = {{"execute", "rm *", Verdict::kAsk}};
    auto with = options();
    with.rules = rules_;
    auto agent = open(with);
    waiting_ = run(*agent, "go");
  }
  Result<RunResult> decide(Decision decision) {
    auto with = options();
    with.thread = waiting_.thread;
    with.rules = rules_;
    auto agent = open(with);
    EXPECT_EQ(agent->pending().size(), 1U);
    return await(agent->approve({std::move(decision)}, nullptr));
  }
  std::vector<std::string> ran_;
  std::vector<ApprovalRule> rules_;
  RunResult waiting_;
};

TEST_F(ApprovalTest, NothingRunsBeforeTheApproval) {
  EXPECT_EQ(waiting_.state, RunState::kWaiting);
  ASSERT_EQ(waiting_.pending.size(), 1U);
  EXPECT_EQ(waiting_.pending[0].call_id, "c1");
  EXPECT_EQ(waiting_.pending[0].arguments, R"({"command":"rm x"})");
  EXPECT_TRUE(world_->runs.empty());
  const auto got = decide({.call_id = "c1", .seen = R"({"command":"rm x"})"});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->state, RunState::kDone);
  EXPECT_EQ(ran_, std::vector<std::string>{"rm x"});
}

TEST_F(ApprovalTest, AnApprovalIsBoundToTheArgumentsThatWereSeen) {
  const auto got = decide({.call_id = "c1", .seen = R"({"command":"rm y"})"});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "approval_changed");
  EXPECT_TRUE(ran_.empty());
}

TEST_F(ApprovalTest, AnEditRunsTheNewArguments) {
  const auto got = decide(
      {.call_id = "c1", .type = Decision::Type::kEdit, .arguments = R"({"command":"rm z"})"});
  ASSERT_TRUE(got);
  EXPECT_EQ(ran_, std::vector<std::string>{"rm z"});
  const auto& messages = model_->requests.back().messages;
  EXPECT_EQ(messages[2].calls[0].arguments, R"({"command":"rm z"})");
}

TEST_F(ApprovalTest, AnEditDoesNotPassARuleThatDenies) {
  rules_.insert(rules_.begin(), {"execute", "rm -r *", Verdict::kDeny});
  const auto got = decide(
      {.call_id = "c1", .type = Decision::Type::kEdit, .arguments = R"({"command":"rm -r /"})"});
  ASSERT_TRUE(got);
  EXPECT_TRUE(ran_.empty());
  EXPECT_TRUE(
      results_of(model_->requests.back())[0].text().starts_with("Error: permission denied"));
}

TEST_F(ApprovalTest, ARejectAndAResponseAnswerInPlaceOfTheTool) {
  const auto got =
      decide({.call_id = "c1", .type = Decision::Type::kReject, .message = "Keep the file."});
  ASSERT_TRUE(got);
  const auto results = results_of(model_->requests.back());
  EXPECT_EQ(results[0].text(), "Keep the file.");
  EXPECT_TRUE(results[0].failed);
  EXPECT_EQ(results[1].text(), "result of look");
  EXPECT_TRUE(ran_.empty());
}

TEST_F(ApprovalTest, AMissingDecisionIsRefused) {
  const auto got = decide({.call_id = "other"});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "bad_decision");
}

TEST_F(ApprovalTest, ANewInputClosesTheCallsThatWait) {
  auto with = options();
  with.thread = waiting_.thread;
  auto agent = open(with);
  const auto got = run(*agent, "never mind");
  EXPECT_EQ(got.state, RunState::kDone);
  EXPECT_TRUE(agent->pending().empty());
  EXPECT_EQ(results_of(model_->requests.back())[0].text(),
            "Tool call execute with id c1 was cancelled - another message came in before it could "
            "be completed.");
}

// A script with tools of each kind, calls in parallel and a subagent. Its thread is cut after each
// event, as a kill of the process would.
class CrashTest : public AgentTest {
 protected:
  void SetUp() override {
    tool("again", Repeat::kYes);
    tool("attach", Repeat::kAttach);
    tool("once", Repeat::kNo);
    answers([](const ModelRequest& request) {
      const bool child = request.messages.at(1).text() == "a piece of work";
      const auto results = results_in(request);
      if (child && results == 0) return reply("", {call("k1", "once", "{}")});
      if (child) return reply("the piece");
      if (results == 0) {
        return reply(
            "", {call("c1", "again", "{}"), call("c2", "attach", "{}"), call("c3", "once", "{}")});
      }
      if (results == 3) {
        return reply("", {call("c4", "task",
                               R"({"description":"a piece of work",)"
                               R"("subagent_type":"general-purpose"})")});
      }
      return reply("the end");
    });
  }
};

TEST_F(CrashTest, EachPrefixOfTheLogResumesToTheSameEnd) {
  auto agent = open(options());
  const auto whole = run(*agent, "go");
  EXPECT_EQ(whole.text, "the end");
  const auto thread = agent->thread();
  agent.reset();
  const auto all = events(thread);
  const std::string child = *[&]() -> std::optional<std::string> {
    for (const auto& event : all) {
      const auto* name = event.data.if_contains("name");
      if (event.type == "tool_started" && name->as_string() == "task") {
        return std::string(event.data.at("execution_id").as_string());
      }
    }
    return std::nullopt;
  }();
  const auto inner = events(child);
  const auto first_run = world_->runs;
  std::size_t tried = 0;
  for (std::size_t kept = 1; kept <= all.size(); ++kept) {
    // The subagent's events come between its call and its result.
    const bool in_task =
        all[kept - 1].type == "tool_started" && all[kept - 1].data.at("name").as_string() == "task";
    for (std::size_t kept_inner = in_task ? 0 : inner.size(); kept_inner <= inner.size();
         ++kept_inner) {
      ++tried;
      const std::string copy = dir_.path() + "/cut" + std::to_string(tried) + ".db";
      std::set<std::string> started;
      {
        auto log = *ThreadLog::open(copy);
        const auto put = [&](const std::string& id, const std::string& parent,
                             const std::vector<ThreadEvent>& from, std::size_t count) {
          ASSERT_TRUE(log->create(parent, id));
          ASSERT_TRUE(log->lease(id));
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_TRUE(log->append(id, from[i].type, from[i].data));
            if (from[i].type == "tool_started") {
              started.insert(std::string(from[i].data.at("execution_id").as_string()));
            }
          }
        };
        put(thread, "", all, kept);
        const bool has_child = std::ranges::any_of(
            all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), [&](const auto& event) {
              return event.type == "tool_started" &&
                     event.data.at("execution_id").as_string() == child;
            });
        if (has_child && kept_inner > 0) put(child, thread, inner, kept_inner);
      }
      // A call that began may have had its effect.
      world_->runs.clear();
      for (const auto& id : started) {
        if (id != child) world_->runs[id] = 1;
      }
      auto with = options();
      with.state_path = copy;
      with.thread = thread;
      auto resumed = open(with);
      ASSERT_TRUE(resumed);
      auto got = await(resumed->resume(nullptr));
      if (!got && got.error().reason == "nothing_to_resume") {
        const auto& last = all[kept - 1].type;
        const bool before_or_after = kept <= 2 || last == "run_ended";
        EXPECT_TRUE(before_or_after) << "after " << last;
        continue;
      }
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(got->state, RunState::kDone) << "after event " << kept << ": " << got->message;
      EXPECT_EQ(got->text, "the end") << "after event " << kept;
      const auto path_events = *(*ThreadLog::open(copy))->events(thread);
      for (const auto& [id, count] : world_->runs) {
        const bool again = id.ends_with("-0") && first_run.contains(id);
        EXPECT_LE(count, again ? 2 : 1) << id << " after event " << kept << "." << kept_inner;
      }
      // The log gives the same end.
      const auto end = replay(path_events);
      EXPECT_EQ(end.text, "the end");
      EXPECT_EQ(end.spent.usage, whole.usage) << "after event " << kept << "." << kept_inner;
    }
  }
  EXPECT_GT(tried, all.size() + inner.size() - 2);
}

TEST_F(AgentTest, SubagentsWorkAtTheSameTimeInThreadsOfTheirOwn) {
  tool("look", Repeat::kYes)->delay = Millis{50};
  answers([](const ModelRequest& request) {
    const auto first = request.messages.at(1).text();
    const auto results = results_in(request);
    if (first.starts_with("piece")) {
      return results == 0 ? reply("", {call("k", "look", "{}")}) : reply("answer to " + first);
    }
    if (results > 0) return reply("all done");
    std::vector<ToolCall> calls;
    for (int i = 0; i < 4; ++i) {
      calls.push_back(call("c" + std::to_string(i), "task",
                           R"({"description":"piece )" + std::to_string(i) +
                               R"(","subagent_type":"general-purpose"})"));
    }
    calls.push_back(call("c9", "task", R"({"description":"x","subagent_type":"nobody"})"));
    return reply("", std::move(calls));
  });
  auto agent = open(options());
  const auto got = run(*agent, "go");
  EXPECT_EQ(world_->most_in_flight, 4);
  EXPECT_EQ(got.text, "all done");
  const auto results = results_of(model_->requests.back());
  ASSERT_EQ(results.size(), 5U);
  EXPECT_EQ(results[2].text(), "answer to piece 2");
  EXPECT_TRUE(results[4].text().starts_with("We cannot invoke subagent nobody because"));
  EXPECT_EQ(got.usage.input, 1000U) << "that of the subagents counts: 2 + 4 * 2 requests";
  auto log = *ThreadLog::open(path_);
  EXPECT_EQ(log->list()->size(), 1U);
  EXPECT_EQ(log->list(true)->size(), 5U);
}

TEST_F(AgentTest, SubagentsHaveSubagentsToTheDepthThatIsSet) {
  tool("once", Repeat::kNo);
  // Each one hands on the task, as long as it has the tool for that.
  answers([](const ModelRequest& request) {
    const std::string task = request.messages.at(1).text();
    if (results_in(request) > 0) return reply(task + "<" + results_of(request).back().text() + ">");
    const bool hands_on = std::ranges::any_of(
        request.tools, [](const ToolSpec& each) { return each.name == "task"; });
    if (!hands_on) return reply("", {call("k", "once", "{}")});
    return reply("",
                 {call("c", "task",
                       R"({"description":"x)" + task + R"(","subagent_type":"general-purpose"})")});
  });
  auto with = options();
  with.subagent_depth = 2;
  with.rules = {{"once", "", Verdict::kAsk}};
  auto agent = open(with);
  const auto waiting = run(*agent, "go");
  ASSERT_EQ(waiting.state, RunState::kWaiting) << waiting.message;
  ASSERT_EQ(waiting.pending.size(), 1U);
  EXPECT_TRUE(world_->runs.empty());
  const auto got = await(agent->approve({{.call_id = waiting.pending[0].call_id}}, nullptr));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->state, RunState::kDone) << got->message;
  EXPECT_TRUE(got->text.starts_with("go<xgo<xxgo<")) << got->text;
  EXPECT_EQ(world_->runs.size(), 1U);
}

TEST_F(AgentTest, ASubagentWithASandboxOfItsOwnGivesItBack) {
  answers([](const ModelRequest& request) {
    if (request.messages.at(1).text() == "x") return reply("mine");
    if (results_in(request) > 0) return reply("done");
    return reply("", {call("c", "task", R"({"description":"x","subagent_type":"copy"})")});
  });
  auto with = options();
  with.subagents.push_back({.name = "copy",
                            .description = "d",
                            .system_prompt = "p",
                            .sandbox = SubagentSpec::Sandbox::kForked});
  auto agent = open(with);
  EXPECT_EQ(run(*agent, "go").text, "done");
  EXPECT_EQ(provider_->removed, std::vector<std::string>{"box-1-fork"});
}

TEST_F(AgentTest, ACallOfASubagentWaitsForItsApprovalToo) {
  tool("once", Repeat::kNo);
  answers([](const ModelRequest& request) {
    const bool child = request.messages.at(1).text() == "x";
    if (results_in(request) > 0) return reply(child ? "inner" : "outer");
    if (child) return reply("", {call("k", "once", "{}")});
    return reply("",
                 {call("c", "task", R"({"description":"x","subagent_type":"general-purpose"})")});
  });
  auto with = options();
  with.rules = {{"once", "", Verdict::kAsk}};
  auto agent = open(with);
  const auto waiting = run(*agent, "go");
  EXPECT_EQ(waiting.state, RunState::kWaiting);
  ASSERT_EQ(waiting.pending.size(), 1U);
  EXPECT_EQ(waiting.pending[0].name, "once");
  EXPECT_TRUE(world_->runs.empty());
  agent.reset();
  with.thread = waiting.thread;
  agent = open(with);
  const auto got = await(agent->approve({{.call_id = waiting.pending[0].call_id}}, nullptr));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->text, "outer");
  EXPECT_EQ(results_of(model_->requests.back())[0].text(), "inner");
  EXPECT_EQ(world_->runs.size(), 1U);
}

TEST_F(AgentTest, ALostSandboxEndsTheRunAndIsNeverReplacedSilently) {
  bool lost = true;
  tool("look", Repeat::kNo, [&](const auto&, const auto&) -> Result<ToolResult> {
    if (lost) return Error{Code::kLost, "sandbox_lost", "the host is gone", 0};
    return ToolResult::of("seen");
  });
  answers([](const ModelRequest& request) {
    const auto& last = request.messages.back();
    if (last.role == Role::kUser && last.text() == "go") {
      return reply("", {call("c", "look", "{}")});
    }
    return reply("on again");
  });
  auto with = options();
  with.checkpoint = true;
  auto agent = open(with);
  EXPECT_EQ(run(*agent, "hello").text, "on again");
  const auto got = run(*agent, "go");
  EXPECT_EQ(got.state, RunState::kSandboxLost);
  EXPECT_FALSE(got.checkpoint.empty());
  const auto thread = agent->thread();
  agent.reset();
  world_->gone = true;
  with.thread = thread;
  agent = open(with);
  EXPECT_EQ(run(*agent, "go").state, RunState::kSandboxLost);
  EXPECT_EQ(world_->boxes, 1);
  agent.reset();
  with.replace_lost_sandbox = true;
  lost = false;
  agent = open(with);
  EXPECT_EQ(world_->boxes, 2);
  const auto resumed = await(agent->resume(nullptr));
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->text, "on again");
  const auto& last = model_->requests.back().messages.back();
  EXPECT_TRUE(last.text().starts_with("Note of the harness: the sandbox was lost"));
}

TEST_F(AgentTest, ALossThatIsFoundAtTheStartIsShownToo) {
  answers([](const ModelRequest&) { return reply("hi"); });
  auto agent = open(options());
  run(*agent, "hello");
  auto with = options();
  with.thread = agent->thread();
  agent.reset();
  world_->gone = true;
  agent = open(with);
  class Types : public Observer {
   public:
    void on_event(const std::string&, const ThreadEvent& event) override {
      seen.push_back(event.type);
    }
    std::vector<std::string> seen;
  } observer;
  const auto got = await(agent->run("hello again", &observer));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->state, RunState::kSandboxLost);
  EXPECT_EQ(observer.seen, std::vector<std::string>{"sandbox_lost"});
}

TEST_F(AgentTest, ARewindRestoresTheConversationAndTheDisk) {
  tool("write", Repeat::kNo, [this](const auto& arguments, const auto&) {
    world_->files["/work/f"] = std::string(arguments.at("text").as_string());
    return ToolResult::of("written");
  });
  answers([](const ModelRequest& request) {
    const auto& last = request.messages.back();
    if (last.role == Role::kTool) return reply("done");
    return reply("", {call("", "write", R"({"text":")" + last.text() + R"("})")});
  });
  auto with = options();
  with.checkpoint = true;
  auto agent = open(with);
  run(*agent, "one");
  const auto end = events(agent->thread()).size() - 1;  // before the checkpoint
  run(*agent, "two");
  EXPECT_EQ(world_->files["/work/f"], "two");
  ASSERT_TRUE(await(agent->rewind(end)));
  EXPECT_EQ(world_->files["/work/f"], "one");
  const auto thread = agent->thread();
  EXPECT_EQ(events(thread).back().type, "sandbox_restored");
  run(*agent, "three");
  for (const auto& message : model_->requests.back().messages) EXPECT_NE(message.text(), "two");
  auto log = *ThreadLog::open(path_);
  agent.reset();
  const auto fork = log->fork(thread, end);
  ASSERT_TRUE(fork);
  with.thread = *fork;
  agent = open(with);
  EXPECT_NE(agent->backend()->id(), "box-1");
  EXPECT_EQ(run(*agent, "four").text, "done");
}

TEST_F(AgentTest, AnAnswerFollowsTheSchema) {
  answers([](const ModelRequest& request) {
    if (request.response_schema.empty()) return reply("It is 4.");
    return reply("```json\n{\"sum\": 4}\n```");
  });
  auto with = options();
  with.response_schema = codec::parse(R"({"type":"object","required":["sum"],"properties":
      {"sum":{"type":"integer"}}})")
                             ->as_object();
  auto agent = open(with);
  const auto got = run(*agent, "2+2");
  EXPECT_EQ(got.state, RunState::kDone);
  EXPECT_EQ(codec::write(got.structured), R"({"sum":4})");
  answers([](const ModelRequest&) { return reply("never"); });
  with.made_model = model_;
  agent = open(with);
  const auto bad = run(*agent, "2+2");
  EXPECT_EQ(bad.state, RunState::kFailed);
  EXPECT_EQ(bad.reason, "bad_structured_answer");
  EXPECT_EQ(bad.steps, 3U);
}

TEST_F(AgentTest, LargeResultsGoToAFile) {
  const std::string large(100'000, 'x');
  tool("execute", Repeat::kYes, [&](const auto&, const auto&) { return ToolResult::of(large); });
  answers([](const ModelRequest& request) {
    if (results_in(request) > 0) return reply("done");
    return reply("", {call("a/b.c", "execute", "{}")});
  });
  auto agent = open(options());
  run(*agent, "go");
  EXPECT_EQ(world_->files.at("/work/large_tool_results/a_b_c"), large);
  const auto text = results_of(model_->requests.back())[0].text();
  EXPECT_LT(text.size(), 3'000U);
  EXPECT_TRUE(
      text.starts_with("Tool result too large, the result of this tool call a/b.c was "
                       "saved in the filesystem at this path: "
                       "/work/large_tool_results/a_b_c"));
}

TEST_F(AgentTest, ALongConversationIsCompactedAndTheLogKeepsIt) {
  tool("read_file", Repeat::kYes,
       [](const auto&, const auto&) { return ToolResult::of(std::string(2'000, 'r')); });
  std::size_t most = 0;
  answers([&](const ModelRequest& request) {
    if (request.tools.empty()) return reply("SUMMARY");
    std::size_t size = 0;
    for (const auto& message : request.messages) size += message.text().size();
    most = std::max(most, size);
    auto out = reply("next", {call("", "read_file", "{}")});
    out.usage = {};
    return out;
  });
  model_->facts.context_tokens = 4'000;
  auto with = options();
  with.limits.steps = 60;  // 120,000 characters, in a window of 16,000
  auto agent = open(with);
  const auto got = run(*agent, "read on");
  EXPECT_EQ(got.reason, "steps");
  EXPECT_LT(most, 16'000U);
  const auto seen = model_->requests.back().messages;
  EXPECT_TRUE(seen[1].text().starts_with(
      "You are in the middle of a conversation that has been summarized."));
  EXPECT_NE(seen[1].text().find("<summary>\nSUMMARY\n</summary>"), std::string::npos);
  const auto history = world_->files.at("/work/conversation_history/" + got.thread + ".md");
  EXPECT_TRUE(history.starts_with("## User\n\nread on"));
  EXPECT_EQ(replay(events(got.thread)).conversation.size(), 1U + 60 * 2);
}

TEST_F(AgentTest, AnOverflowIsCompactedThenClippedThenReported) {
  tool("read_file", Repeat::kYes,
       [](const auto&, const auto&) { return ToolResult::of(std::string(50'000, 'r')); });
  std::size_t limit = 60'000;
  answers([&](const ModelRequest& request) -> Result<ModelReply> {
    if (request.tools.empty()) return reply("SUMMARY");
    std::size_t size = 0;
    for (const auto& message : request.messages) size += message.text().size();
    if (size > limit) {
      return Error{Code::kInvalidArgument, "context_overflow", "too long", 0};
    }
    if (results_in(request) == 0) {
      return reply("", {call("", "read_file", "{}"), call("", "read_file", "{}")});
    }
    return reply("done");
  });
  auto agent = open(options());
  const auto got = run(*agent, "go");
  EXPECT_EQ(got.state, RunState::kDone) << got.message;
  const auto results = results_of(model_->requests.back());
  ASSERT_EQ(results.size(), 2U);
  EXPECT_LT(results[0].text().size(), 5'000U);
  limit = 100;
  const auto bad = run(*agent, std::string(200, 'q'));
  EXPECT_EQ(bad.state, RunState::kFailed);
  EXPECT_EQ(bad.reason, "context_overflow");
}

TEST_F(AgentTest, SkillsAndMemoryAreReadOnceInAThread) {
  world_->files["/skills/pdf/SKILL.md"] = "---\nname: pdf\ndescription: Reads PDFs.\n---\nbody";
  world_->files["/skills/bad/SKILL.md"] = "---\nname: other\ndescription: x\n---\n";
  world_->files["/AGENTS.md"] = "Use tabs.<!-- hidden -->";
  answers([](const ModelRequest&) { return reply("hi"); });
  auto with = options();
  with.skills = {"/skills"};
  with.memory = {"/AGENTS.md", "/missing.md"};
  auto agent = open(with);
  run(*agent, "hello");
  const auto prompt = model_->requests.back().messages[0].text();
  EXPECT_NE(prompt.find("**pdf**: Reads PDFs."), std::string::npos);
  EXPECT_EQ(prompt.find("other"), std::string::npos);
  EXPECT_NE(prompt.find("<agent_memory>\n/AGENTS.md\nUse tabs.\n"), std::string::npos);
  EXPECT_EQ(prompt.find("hidden"), std::string::npos);
  with.thread = agent->thread();
  agent.reset();
  world_->files["/AGENTS.md"] = "Use spaces.";
  agent = open(with);
  run(*agent, "hello");
  EXPECT_EQ(model_->requests.back().messages[0].text(), prompt);
}

}  // namespace
}  // namespace cay::agent
