// The tool `task`: hands a piece of work to a subagent, which is a thread of its own in the log.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/loop/harness.h"

namespace cay::agent {

// The parts that a subagent takes from its agent.
struct TaskParts {
  Harness* parent;  // outlives the tool
  std::vector<SubagentSpec> subagents;
  std::uint32_t depth = 1;  // above 1 a subagent has the tool itself, with one less
  std::shared_ptr<providers::Provider> provider;
  providers::SandboxRequest sandbox;  // for a subagent with a sandbox of its own
  // The built-in tools over another sandbox, and the agent's own.
  std::function<Result<Tools>(std::shared_ptr<providers::Backend>)> make_tools;
};

// The subagent that is always there.
SubagentSpec general_purpose();

// Null: there is no subagent. A call that a crash cut off goes on in the subagent's thread.
std::shared_ptr<Tool> make_task_tool(TaskParts parts);

}  // namespace cay::agent
