// The verbs of `cay agent`. Each returns the exit code and throws ApiError.
#pragma once
#include "cli/agent_args.h"
#include "cli/context.h"

namespace cay::cli {

int agent_run(Context& at, const AgentArgs& args);
int agent_conversation(Context& at, const AgentArgs& args);
int agent_tasks(Context& at, const AgentArgs& args);
int agent_acp(Context& at, const AgentArgs& args);

// Those of the threads' log.
int agent_threads(Context& at, const AgentArgs& args);
int agent_show(Context& at, const AgentArgs& args);
int agent_export(Context& at, const AgentArgs& args);
int agent_remove(Context& at, const AgentArgs& args);
int agent_rewind(Context& at, const AgentArgs& args);

}  // namespace cay::cli
