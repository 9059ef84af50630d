#include "agent/acp/allowed_calls.h"

#include <string_view>

namespace cay::agent::acp {
namespace {

// "execute git", "read_file". Empty: the call has no kind that could be allowed.
std::string kind_of(const ToolCall& call) {
  if (call.name != "execute") return call.name;
  const auto arguments = codec::parse_object(call.arguments);
  const codec::json::value* command = arguments ? arguments->if_contains("command") : nullptr;
  if (command == nullptr || !command->is_string()) return {};
  const std::string_view line = command->get_string();
  if (line.find_first_of("\n;&|<>()`$\\{}*?[]#~=%!\"'") != std::string_view::npos) return {};
  const auto begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  const auto end = line.find(' ', begin);
  return "execute " + std::string(line.substr(begin, end - begin));
}

}  // namespace

void AllowedCalls::add(const ToolCall& call) {
  const std::string kind = kind_of(call);
  if (!kind.empty()) kinds_.insert(kind);
}

bool AllowedCalls::covers(const ToolCall& call) const { return kinds_.contains(kind_of(call)); }

}  // namespace cay::agent::acp
