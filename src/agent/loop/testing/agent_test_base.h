// AgentTest: an agent over fakes, with a log of its own.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/loop/agent.h"
#include "agent/loop/testing/fakes.h"
#include "agent/threads/log.h"
#include "async/testing.h"
#include "base/testing/temp_dir.h"

namespace cay::agent::testing {

inline std::size_t results_in(const ModelRequest& request) {
  return static_cast<std::size_t>(std::ranges::count_if(
      request.messages, [](const auto& message) { return message.role == Role::kTool; }));
}

// The results of a request, in order.
inline std::vector<Message> results_of(const ModelRequest& request) {
  std::vector<Message> out;
  for (const auto& message : request.messages) {
    if (message.role == Role::kTool) out.push_back(message);
  }
  return out;
}

class AgentTest : public ::testing::Test {
 protected:
  AgentOptions options() {
    AgentOptions out;
    out.system_prompt = "Be brief.";
    out.state_path = path_;
    out.made_model = model_;
    out.made_provider = provider_;
    out.made_tools = [this](std::shared_ptr<providers::Backend>) { return tools_; };
    return out;
  }
  void answers(FakeModel::Answer answer) { model_ = std::make_shared<FakeModel>(answer); }
  std::shared_ptr<FakeTool> tool(const std::string& name, Repeat repeat, FakeTool::Body body = {}) {
    if (!body) {
      body = [name](const auto&, const auto&) { return ToolResult::of("result of " + name); };
    }
    auto made = std::make_shared<FakeTool>(name, repeat, world_, body);
    tools_.push_back(made);
    return made;
  }
  template <class T>
  T await(asio::awaitable<T> work) {
    return cay::testing::run(loop_, std::move(work));
  }
  std::unique_ptr<Agent> open(AgentOptions with) {
    auto got = await(Agent::open(loop_.get_executor(), std::move(with)));
    EXPECT_TRUE(got) << got.error().message;
    return got ? *std::move(got) : nullptr;
  }
  RunResult run(Agent& agent, const std::string& input) {
    auto got = await(agent.run(input, nullptr));
    EXPECT_TRUE(got) << got.error().message;
    return got ? *std::move(got) : RunResult{};
  }
  std::vector<ThreadEvent> events(const std::string& thread) {
    auto log = ThreadLog::open(path_);
    return *(*log)->events(thread);
  }
  std::vector<std::string> types(const std::string& thread) {
    std::vector<std::string> out;
    for (const auto& event : events(thread)) out.push_back(event.type);
    return out;
  }

  const cay::testing::TempDir dir_;
  const std::string path_ = dir_.path() + "/state/threads.db";
  asio::io_context loop_;
  std::shared_ptr<World> world_ = std::make_shared<World>();
  std::shared_ptr<FakeProvider> provider_ = std::make_shared<FakeProvider>(world_);
  std::shared_ptr<FakeModel> model_;
  Tools tools_;
};

}  // namespace cay::agent::testing
