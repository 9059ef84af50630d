// PathRules: the paths that a sandbox makes read-only or hidden for everything inside, its shell
// included. Pure.
#pragma once
#include <string>
#include <vector>

namespace cay::providers {

// Absolute paths. A rule covers all below its path.
struct PathRules {
  std::vector<std::string> read_only{}, hidden{};

  bool empty() const { return read_only.empty() && hidden.empty(); }
  bool operator==(const PathRules&) const = default;
};

// Whether `path` is `outer`, or lies below it.
bool is_below(const std::string& path, const std::string& outer);

// Returns a path whose rule in `wanted` is not held by `held`. Empty: all are. A hidden path is
// read-only too.
std::string first_not_held(const PathRules& wanted, const PathRules& held);

}  // namespace cay::providers
