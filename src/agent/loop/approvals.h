// Approvals: which rule decides a call. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "agent/llm/message.h"
#include "agent/loop/agent.h"
#include "codec/json.h"

namespace cay::agent {

// `*` stands for any text, `?` for one byte.
bool matches_wildcard(std::string_view pattern, std::string_view text);

// The argument that rules compare: the first of command, file_path, path, url, code and pattern
// that the tool declares, else all arguments as JSON. The model can add arguments that a tool
// ignores, and those do not count. A tool that declares none may have all of the six. Paths have
// their normal form: "//etc/x" is "/etc/x", and `base` comes before one without "/".
std::string main_argument(const ToolSpec& tool, const codec::json::object& arguments,
                          std::string_view base = "/");

// A line of sh that may run more than its first command, or redirect it.
bool has_shell_operators(std::string_view line);

Verdict verdict_of(const std::vector<ApprovalRule>& rules, const ToolSpec& tool,
                   const codec::json::object& arguments, std::string_view base = "/");

}  // namespace cay::agent
