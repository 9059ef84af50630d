#include "cli/agent_outcome.h"

#include <algorithm>

#include "cli/exit_code.h"

namespace cay::cli {

bool is_infrastructure(agent::RunState state, std::string_view reason) {
  if (state == agent::RunState::kSandboxLost) return true;
  if (state != agent::RunState::kFailed) return false;
  // These reasons come from the conversation. All others are failures around it.
  constexpr std::string_view kAgents[] = {"refused", "model_refused", "context_overflow",
                                          "model_request_refused", "bad_structured_answer"};
  return std::ranges::find(kAgents, reason) == std::end(kAgents);
}

int exit_code_of(agent::RunState state, std::string_view reason) {
  switch (state) {
    case agent::RunState::kDone: return kOk;
    case agent::RunState::kWaiting: return kAgentWaiting;
    case agent::RunState::kCancelled: return kInterrupted;
    case agent::RunState::kSandboxLost: return kOurFailure;
    case agent::RunState::kLimit: return reason == "time" ? kTimedOut : kAgentEnded;
    case agent::RunState::kFailed:
      return is_infrastructure(state, reason) ? kOurFailure : kAgentEnded;
  }
  return kOurFailure;
}

}  // namespace cay::cli
