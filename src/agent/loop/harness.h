// Harness: the parts that the steps of one thread's runs share.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "agent/loop/agent.h"
#include "agent/loop/recorder.h"

namespace cay::agent {

struct Harness {
  asio::any_io_executor executor;
  std::shared_ptr<ThreadLog> log;
  std::unique_ptr<Recorder> recorder;
  std::shared_ptr<Model> model;
  std::shared_ptr<providers::Backend> backend;  // null: none, or it is lost
  Tools tools;
  std::string system_prompt;  // whole
  std::vector<ApprovalRule> rules;
  Limits limits;
  codec::json::object response_schema;

  // The account of the whole run. The loops of its subagents share it.
  std::shared_ptr<Spending> meter = std::make_shared<Spending>();
  bool is_subagent = false;

  // Calls of subagents that ended a task without its result, until their approval.
  std::vector<ChildCall> child_calls;
  // The end that a cancelled run writes into the log.
  RunState stop_state = RunState::kCancelled;
  std::string stop_reason;

  const ThreadState& state() const { return recorder->state(); }
  std::shared_ptr<Tool> tool(const std::string& name) const;
  std::vector<ToolSpec> specs() const;
  // Counts an answer of the model, and adds its `usage` and `cost` to an event's members.
  void count(const Usage& usage, codec::json::object& data);
};

// An end of a run.
struct Outcome {
  RunState state = RunState::kDone;
  std::string reason;
  std::string message;
  codec::json::value structured;
};

// US dollars. nullopt: a price is unknown.
std::optional<double> cost_of(const ModelProfile& profile, const Usage& usage);

}  // namespace cay::agent
