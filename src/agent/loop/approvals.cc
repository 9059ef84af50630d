#include "agent/loop/approvals.h"

#include "agent/tools/tool_text.h"

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

std::string main_argument(const ToolSpec& tool, const codec::json::object& arguments,
                          std::string_view base) {
  const auto* declared = tool.parameters.if_contains("properties");
  const auto* known = declared != nullptr ? declared->if_object() : nullptr;
  for (const std::string_view name : {"command", "file_path", "path", "url", "code", "pattern"}) {
    if (known != nullptr && !known->contains(name)) continue;
    const auto* value = arguments.if_contains(name);
    if (value == nullptr || !value->is_string()) continue;
    std::string out(value->get_string());
    if (!name.ends_with("path")) return out;
    // The tools refuse a path that has no normal form.
    return normal_path(out, base).value_or(out);
  }
  return codec::write(arguments);
}

bool has_shell_operators(std::string_view line) {
  return line.find_first_of(";&|<>`$()\n\r{}") != std::string_view::npos;
}

Verdict verdict_of(const std::vector<ApprovalRule>& rules, const ToolSpec& tool,
                   const codec::json::object& arguments, std::string_view base) {
  const std::string argument = main_argument(tool, arguments, base);
  const bool several = arguments.contains("command") && has_shell_operators(argument);
  for (const auto& rule : rules) {
    if (!matches_wildcard(rule.tool, tool.name)) continue;
    if (rule.pattern.empty()) return rule.verdict;
    if (several && rule.verdict == Verdict::kAllow) continue;
    if (matches_wildcard(rule.pattern, argument)) return rule.verdict;
  }
  return Verdict::kAllow;
}

}  // namespace cay::agent
