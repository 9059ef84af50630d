// Approvals: which rule decides a call. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "agent/loop/agent.h"
#include "codec/json.h"

namespace cay::agent {

// `*` stands for any text, `?` for one byte.
bool matches_wildcard(std::string_view pattern, std::string_view text);

// The argument that rules compare: the first of command, file_path, path, url, code and pattern,
// else all arguments as JSON.
std::string main_argument(const codec::json::object& arguments);

// A line of sh that may run more than its first command, or redirect it.
bool has_shell_operators(std::string_view line);

Verdict verdict_of(const std::vector<ApprovalRule>& rules, const std::string& tool,
                   const codec::json::object& arguments);

}  // namespace cay::agent
