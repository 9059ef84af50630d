#include "core/guest_paths.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "core/errors.h"

namespace cay::core {
namespace {

constexpr std::size_t kMaxPathRules = 32;
constexpr std::ptrdiff_t kMaxPathParts = 32;

bool has_control_byte(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::iscntrl(c) != 0; });
}

Error bad_path(const std::string& message) { return invalid("invalid_paths", message); }

Result<void> check_rule_path(const std::string& path) {
  if (is_guest_place(path) && std::ranges::count(path, '/') <= kMaxPathParts) return {};
  return bad_path("'" + path +
                  "' cannot be made read-only or hidden: name an absolute path without '.' and "
                  "'..', with at most 32 parts, outside /proc, /sys, /dev and /run");
}

// A rule does not hold in what is mounted there.
Result<void> check_beside_mounts(const std::string& path, const PathList& mounted) {
  for (const std::string& mount : mounted) {
    if (!is_within(path, mount)) continue;
    return bad_path(path + " lies in the file system mounted at " + mount +
                    ": a volume of its own can be read-only");
  }
  return {};
}

// Nothing lies below a hidden path.
Result<void> check_below(const std::string& hidden, const PathList& others) {
  for (const std::string& path : others) {
    if (path == hidden || !is_within(path, hidden)) continue;
    return bad_path(path + " lies below " + hidden + ", which is hidden: leave one out");
  }
  return {};
}

}  // namespace

bool is_guest_place(const std::string& path) {
  if (path.size() < 2 || path.size() > kMaxGuestPath || path.front() != '/' || path.back() == '/' ||
      has_control_byte(path))
    return false;
  const std::string within = path + "/";
  if (within.find("//") != std::string::npos || within.find("/./") != std::string::npos ||
      within.find("/../") != std::string::npos) {
    return false;
  }
  return std::ranges::none_of(
      std::to_array<std::string_view>({"/proc/", "/sys/", "/dev/", "/run/"}),
      [&within](std::string_view own) { return within.starts_with(own); });
}

bool is_within(const std::string& path, const std::string& outer) {
  return (path + "/").starts_with(outer + "/");
}

Result<void> check_path_rules(const PathRulesOf& rules) {
  if (rules.read_only.empty() && rules.hidden.empty()) return {};
  if (rules.profile == Profile::kNested) {
    return bad_path(
        "a sandbox of profile nested has no read-only and hidden paths: a container in it could "
        "move them. Use the profile default or strict");
  }
  if (rules.read_only.size() + rules.hidden.size() > kMaxPathRules)
    return bad_path("more than 32 read-only and hidden paths: name directories above them");
  PathList mounted;
  for (const auto& [path, bytes] : rules.tmpfs) mounted.push_back(path);
  for (const VolumeMount& mount : rules.volumes) mounted.push_back(mount.path);
  std::set<std::string> seen;
  for (const PathList* list : {&rules.read_only, &rules.hidden}) {
    for (const std::string& path : *list) {
      CAY_CHECK(check_rule_path(path));
      if (!seen.insert(path).second) return bad_path(path + " has two rules: name it once");
      CAY_CHECK(check_beside_mounts(path, mounted));
    }
  }
  for (const std::string& hidden : rules.hidden) {
    CAY_CHECK(check_below(hidden, mounted));
    CAY_CHECK(check_below(hidden, rules.read_only));
    CAY_CHECK(check_below(hidden, rules.hidden));
  }
  return {};
}

}  // namespace cay::core
