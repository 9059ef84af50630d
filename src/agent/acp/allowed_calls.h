// AllowedCalls: the calls that a person has allowed for the rest of a session.
#pragma once
#include <set>
#include <string>

#include "agent/llm/message.h"

namespace cay::agent::acp {

class AllowedCalls {
 public:
  // Allows calls like this one: of the same tool, and for execute of the same program.
  void add(const ToolCall& call);
  // A command that a shell may read as several is never covered: `ls; rm -rf /` is no `ls`.
  bool covers(const ToolCall& call) const;

 private:
  std::set<std::string> kinds_;
};

}  // namespace cay::agent::acp
