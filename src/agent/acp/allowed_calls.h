// AllowedCalls: the calls that a person has allowed for the rest of a session.
#pragma once
#include <set>
#include <string>
#include <utility>

#include "agent/llm/message.h"

namespace cay::agent::acp {

// An approval of a file tool holds for its folder and those below it. An approval of another call
// holds for its exact arguments: another command of the same program needs another one.
class AllowedCalls {
 public:
  void add(const ToolCall& call);
  bool covers(const ToolCall& call) const;

  // Returns the name of the option that adds this call: "Always allow write_file in /work".
  static std::string option_name(const ToolCall& call);

 private:
  using Rule = std::pair<std::string, std::string>;  // tool, and folder or arguments
  std::set<Rule> folders_, exact_;
};

}  // namespace cay::agent::acp
