// A single run of `cay agent`.
#include <unistd.h>

#include <iostream>
#include <iterator>
#include <string>

#include "cli/agent_actions.h"
#include "cli/agent_outcome.h"
#include "cli/agent_session.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace cay::cli {
namespace {

std::string task_of(const AgentArgs& args) {
  if (args.task != "-") return args.task;
  std::string out{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  if (out.find_first_not_of(" \n\t\r") == std::string::npos)
    throw ApiError(ErrorCode::kInvalidArgument, "empty_task", "stdin has no task");
  return out;
}

void note_waiting(const agent::RunResult& result) {
  write_all(STDERR_FILENO, pending_text(result.pending, wants_colour()));
  print_error("the agent waits for an approval. Decide with: cay agent --resume " + result.thread +
              " --decide approve (or reject=WHY, respond=TEXT, edit=JSON)");
}

// Names the sandbox that stays, and the command that goes on.
void note_end(AgentSession& session, const AgentArgs& args, const agent::RunResult& result) {
  const std::string sandbox = session.sandbox();
  if (args.remove) {
    print_error("thread " + session.thread() + "; its sandbox is removed");
  } else if (!sandbox.empty() && args.id.empty() && session.provider() != "local") {
    print_error("sandbox " + sandbox + " is kept, and stops after an hour without use");
  }
  if (result.state == agent::RunState::kWaiting) {
    note_waiting(result);
  } else if (result.state == agent::RunState::kDone) {
    if (!args.remove) print_error("go on with: cay agent --resume " + session.thread() + " \"…\"");
  } else {
    print_error("try again with: cay agent --resume " + session.thread());
  }
}

}  // namespace

int agent_run(Context& at, const AgentArgs& args) {
  const std::string task = task_of(args);
  AgentSession session(at, args);
  agent::RunResult result;
  if (!args.decide.empty()) {
    result = session.decide(args.decide);
  } else if (!task.empty()) {
    result = session.run(task);
  } else {
    result = session.resume();
  }
  const bool waits = result.state == agent::RunState::kWaiting;
  if (!waits && !result.message.empty()) print_error(result.message);
  if (args.remove && !waits) session.remove_sandbox();
  if (!at.json) note_end(session, args, result);
  return exit_code_of(result.state, result.reason);
}

}  // namespace cay::cli
