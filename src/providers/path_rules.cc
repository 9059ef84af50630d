#include "providers/path_rules.h"

#include <algorithm>

namespace cay::providers {
namespace {

bool covers(const std::vector<std::string>& rules, const std::string& path) {
  return std::ranges::any_of(rules, [&](const auto& outer) { return is_below(path, outer); });
}

}  // namespace

bool is_below(const std::string& path, const std::string& outer) {
  return (path + "/").starts_with(outer + "/");
}

std::string first_not_held(const PathRules& wanted, const PathRules& held) {
  for (const auto& path : wanted.hidden) {
    if (!covers(held.hidden, path)) return path;
  }
  for (const auto& path : wanted.read_only) {
    if (!covers(held.hidden, path) && !covers(held.read_only, path)) return path;
  }
  return {};
}

}  // namespace cay::providers
