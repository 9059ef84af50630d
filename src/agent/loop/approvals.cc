#include "agent/loop/approvals.h"

namespace cay::agent {

bool matches_wildcard(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, after = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string main_argument(const codec::json::object& arguments) {
  for (const char* name : {"command", "file_path", "path", "url", "code", "pattern"}) {
    const auto* value = arguments.if_contains(name);
    if (value != nullptr && value->is_string()) return std::string(value->get_string());
  }
  return codec::write(arguments);
}

bool has_shell_operators(std::string_view line) {
  return line.find_first_of(";&|<>`$()\n\r{}") != std::string_view::npos;
}

Verdict verdict_of(const std::vector<ApprovalRule>& rules, const std::string& tool,
                   const codec::json::object& arguments) {
  const std::string argument = main_argument(arguments);
  const bool several = arguments.contains("command") && has_shell_operators(argument);
  for (const auto& rule : rules) {
    if (!matches_wildcard(rule.tool, tool)) continue;
    if (rule.pattern.empty()) return rule.verdict;
    if (several && rule.verdict == Verdict::kAllow) continue;
    if (matches_wildcard(rule.pattern, argument)) return rule.verdict;
  }
  return Verdict::kAllow;
}

}  // namespace cay::agent
