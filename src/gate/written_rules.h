// Reads the rules that the daemon wrote for a sandbox into DATA/rules.
#pragma once
#include <string>
#include <vector>

#include "gate/gate_context.h"
#include "policy/catalogue.h"
#include "wire/network_questions.h"

namespace cay::gate {

// Returns the sandbox's policy: the written one, or `lent` if there is none, which its keeper
// named. Passes the hosts of its proxy rules and fences on to the handover. If either file cannot
// be read, it may be stricter than `lent`, so the result is EgressPolicy::unreadable().
policy::Choice read_written_rules(const GateContext& context, const std::string& sandbox_id,
                                  const std::string& lent);

// Returns the answers that the daemon wrote to questions of the sandbox. Some may be old.
std::vector<wire::QuestionAnswer> read_written_answers(const GateContext& context,
                                                       const std::string& sandbox_id);

}  // namespace cay::gate
