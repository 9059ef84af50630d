#include "agent/tools/permission_mounts.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "providers/glob_rules.h"

namespace cay::agent {
namespace {

constexpr const char* kWildcards = "*?[{";

struct Denied {
  bool read = false, write = false;
};
using DeniedPaths = std::map<std::string, Denied>;  // in the order of the paths

Error no_mount(const std::string& pattern, std::string_view why) {
  return {Code::kUnsupported, "permissions_need_mounts",
          "the file rule on '" + pattern + "' " + std::string(why) +
              ", so a command could go round it: deny a path or a directory such as /dir/**, or "
              "leave the rule out"};
}

bool covers(const FilesystemPermission& rule, FileOperation one) {
  return std::ranges::find(rule.operations, one) != rule.operations.end();
}

// The part before the first name with a wildcard.
std::string fixed_part(std::string_view pattern) {
  std::string out;
  while (!pattern.empty()) {
    pattern.remove_prefix(std::min(pattern.find_first_not_of('/'), pattern.size()));
    const std::string_view name = pattern.substr(0, pattern.find('/'));
    if (name.empty() || name.find_first_of(kWildcards) != std::string_view::npos) break;
    out += "/" + std::string(name);
    pattern.remove_prefix(name.size());
  }
  return out;
}

// The path that a pattern covers with all below it.
Result<std::string> path_of(std::string_view pattern) {
  const std::string whole(pattern);
  while (pattern.ends_with('/')) pattern.remove_suffix(1);
  if (pattern.ends_with("/**")) pattern.remove_suffix(3);
  std::string path = fixed_part(pattern);
  const bool is_fixed = pattern.find_first_of(kWildcards) == std::string_view::npos;
  if (!is_fixed) return no_mount(whole, "has a wildcard that no mount has");
  if (path.empty()) return no_mount(whole, "names the root, which cannot be mounted over");
  return path;
}

// A rule that comes first, and lets something below `path` through.
Result<void> check_exceptions(const std::vector<FilesystemPermission>& rules, std::size_t at,
                              const std::string& path) {
  for (std::size_t i = 0; i < at; ++i) {
    if (rules[i].verdict == FileVerdict::kDeny) continue;
    const bool same = std::ranges::any_of(
        rules[i].operations, [&](FileOperation one) { return covers(rules[at], one); });
    if (!same) continue;
    for (const std::string& pattern : rules[i].paths) {
      const std::string other = fixed_part(pattern);
      if (!providers::is_below(other, path) && !providers::is_below(path, other)) continue;
      return no_mount(path, "has an exception before it (" + pattern + ")");
    }
  }
  return {};
}

Result<DeniedPaths> denied_by(const std::vector<FilesystemPermission>& rules) {
  DeniedPaths out;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& rule = rules[i];
    for (const std::string& braced : rule.paths) {
      if (rule.verdict == FileVerdict::kAllow) break;
      if (rule.verdict == FileVerdict::kAsk) return no_mount(braced, "asks, and a mount cannot");
      CAY_TRY(const auto patterns,
              providers::expand_braces(braced, providers::GlobRule::kMostExpansions));
      for (const std::string& pattern : patterns) {
        CAY_TRY(const std::string path, path_of(pattern));
        CAY_CHECK(check_exceptions(rules, i, path));
        Denied& denied = out[path];
        denied.read = denied.read || covers(rule, FileOperation::kRead);
        denied.write = denied.write || covers(rule, FileOperation::kWrite);
      }
    }
  }
  return out;
}

}  // namespace

Result<providers::PathRules> mounts_of(const std::vector<FilesystemPermission>& rules) {
  CAY_CHECK(FilePermissions::create(rules));
  CAY_TRY(const DeniedPaths denied, denied_by(rules));
  providers::PathRules out;
  for (const auto& [path, one] : denied) {
    bool write = one.write;
    for (const auto& [outer, other] : denied)
      write = write || (other.write && providers::is_below(path, outer));
    const auto is_over = [&](const std::string& outer) { return providers::is_below(path, outer); };
    if (std::ranges::any_of(out.hidden, is_over)) continue;  // there is nothing any more
    if (one.read && !write)
      return no_mount(path, "denies reading alone, and what is hidden cannot be written either");
    if (one.read) {
      out.hidden.push_back(path);
    } else if (one.write && !std::ranges::any_of(out.read_only, is_over)) {
      out.read_only.push_back(path);
    }
  }
  return out;
}

}  // namespace cay::agent
