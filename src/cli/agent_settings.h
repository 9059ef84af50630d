// The arguments of `cay agent` as options of the harness. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "agent/loop/agent.h"
#include "agent/tools/web_policy.h"
#include "cli/agent_args.h"

namespace cay::cli {

// Reads a rule: a verdict, then =TOOL or =TOOL:PATTERN, as in "deny=execute:rm *". A verdict alone
// is for all calls. Fails kInvalidArgument (invalid_rule).
Result<agent::ApprovalRule> parse_rule(std::string_view text);

// US dollars: "0.5", "$2". Fails kInvalidArgument (bad_cost).
Result<double> parse_cost(std::string_view text);
// US dollars for a million tokens: "2.5", "$2.5", "0". Fails kInvalidArgument (bad_price).
Result<double> parse_price(std::string_view text);
// Fails kInvalidArgument (bad_temperature) outside 0 to 2.
Result<double> parse_temperature(std::string_view text);

// The rules of the command line. Without a sandbox around them, all calls that no rule decides
// wait for an approval.
Result<std::vector<agent::ApprovalRule>> rules_of(const AgentArgs& args);

// One decision for each of `pending`, from "approve", "reject=WHY", "respond=TEXT" or "edit=JSON".
// A single text decides all. Fails kInvalidArgument (bad_decision).
Result<std::vector<agent::Decision>> decisions_of(const std::vector<std::string>& texts,
                                                  const std::vector<agent::PendingCall>& pending);

// How long the sandbox of a thread stays without use.
inline constexpr std::int64_t kThreadIdleS = 3600;

// Without `thread`, which the caller chooses.
Result<agent::AgentOptions> options_of(const AgentArgs& args);

}  // namespace cay::cli
