// The end of a run as an exit code, and whose fault a failure was. Pure.
#pragma once
#include <string_view>

#include "agent/loop/agent.h"

namespace cay::cli {

constexpr int kAgentEnded = 1;    // otherwise than done, by the agent's side
constexpr int kAgentWaiting = 3;  // for an approval

// True where the same task may succeed another time: the model's server, the daemon or the sandbox
// failed, and not the agent.
bool is_infrastructure(agent::RunState state, std::string_view reason);
int exit_code_of(agent::RunState state, std::string_view reason);

}  // namespace cay::cli
