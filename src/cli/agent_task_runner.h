// AgentTaskRunner: runs many tasks, each with an agent and a sandbox of its own, some at once. A
// failure of infrastructure is tried again with a new thread and a new sandbox.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "agent/loop/agent.h"
#include "agent/threads/log.h"
#include "cli/agent_results.h"
#include "cli/agent_tasks_file.h"

namespace cay::cli {

struct AgentTaskOptions {
  agent::AgentOptions agent;  // of all tasks
  std::uint64_t parallel = 1, retries = 2;
  const AgentResults* results = nullptr;  // null: nothing is written
  agent::ThreadLog* log = nullptr;
  // Called with each result, in the order of their ends.
  std::function<void(const codec::json::object& result)> on_result;
};

class AgentTaskRunner {
 public:
  AgentTaskRunner(asio::any_io_executor loop, std::vector<AgentTask> tasks,
                  AgentTaskOptions options)
      : loop_(std::move(loop)), tasks_(std::move(tasks)), options_(std::move(options)) {}

  // Runs all. A failure to write a result ends it.
  Task<void> run();
  // Ends what runs, and begins nothing more. A task that was cut off has no result.
  void cancel();

 private:
  struct Attempt;

  asio::awaitable<void> work();
  Task<void> run_task(AgentTask task);
  Task<void> attempt(const AgentTask& task, Attempt& to);
  Task<void> upload(const AgentTask& task, agent::Agent& agent);
  Task<void> collect(const AgentTask& task, agent::Agent& agent, Attempt& to);
  agent::AgentOptions options_of(const AgentTask& task) const;
  codec::json::object result_of(const AgentTask& task, const Attempt& last,
                                codec::json::array attempts) const;

  asio::any_io_executor loop_;
  std::vector<AgentTask> tasks_;
  AgentTaskOptions options_;
  std::size_t next_ = 0;
  bool cancelled_ = false;
  Result<void> failed_;
  std::set<agent::Agent*> running_;
};

}  // namespace cay::cli
