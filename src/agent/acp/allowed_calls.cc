#include "agent/acp/allowed_calls.h"

#include <optional>
#include <string_view>

namespace cay::agent::acp {
namespace {

// Whether a path begins at the root and names its place by itself: without ".", ".." and "//".
bool is_plain(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(part.size());
  }
  return true;
}

// The folder that a call of a file tool acts in. nullopt: the call has none, or it is the root.
std::optional<std::string> folder_of(const ToolCall& call) {
  const bool lists = call.name == "ls";
  const bool of_file = call.name == "read_file" || call.name == "write_file" ||
                       call.name == "edit_file" || call.name == "delete";
  if (!lists && !of_file) return std::nullopt;
  const auto arguments = codec::parse_object(call.arguments);
  const auto* value = arguments ? arguments->if_contains(lists ? "path" : "file_path") : nullptr;
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const std::string path(value->get_string());
  if (!is_plain(path)) return std::nullopt;
  auto folder = lists ? path : path.substr(0, path.rfind('/'));
  if (folder.empty()) return std::nullopt;
  return folder;
}

// The same arguments have the same text, however the model spaced them.
std::string arguments_of(const ToolCall& call) {
  const auto parsed = codec::parse_object(call.arguments, codec::Empty::kIsObject);
  return parsed ? codec::write(*parsed) : call.arguments;
}

}  // namespace

void AllowedCalls::add(const ToolCall& call) {
  if (auto folder = folder_of(call)) {
    folders_.emplace(call.name, *std::move(folder));
  } else {
    exact_.emplace(call.name, arguments_of(call));
  }
}

bool AllowedCalls::covers(const ToolCall& call) const {
  if (exact_.contains({call.name, arguments_of(call)})) return true;
  const auto folder = folder_of(call);
  if (!folder) return false;
  for (auto above = *folder; !above.empty(); above.resize(above.rfind('/'))) {
    if (folders_.contains({call.name, above})) return true;
  }
  return false;
}

std::string AllowedCalls::option_name(const ToolCall& call) {
  if (const auto folder = folder_of(call)) return "Always allow " + call.name + " in " + *folder;
  if (call.name == "execute") return "Always allow this exact command";
  return "Always allow " + call.name + " with these exact arguments";
}

}  // namespace cay::agent::acp
