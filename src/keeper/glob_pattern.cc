#include "keeper/glob_pattern.h"

namespace cay::keeper {
namespace {

// A bracket expression at pattern[at] == '['; moves `at` past it. No closing bracket: a plain '['.
bool bracket_matches(std::string_view pattern, std::size_t& at, char c) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  const std::size_t first = i;
  bool found = false;
  for (; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found |= pattern[i] <= c && c <= pattern[i + 2];
      i += 2;
    } else {
      found |= pattern[i] == c;
    }
  }
  if (i >= pattern.size()) {
    ++at;
    return c == '[';
  }
  at = i + 1;
  return found != negated;
}

// Iterative with one point to go back to: linear in practice, never exponential.
bool wildcard(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
      continue;
    }
    if (p < pattern.size()) {
      std::size_t next = p;
      bool same = false;
      if (pattern[p] == '[') {
        same = bracket_matches(pattern, next, name[n]);
      } else {
        if (pattern[p] == '\\' && p + 1 < pattern.size()) ++next;
        same = pattern[p] == '?' || pattern[next] == name[n];
        ++next;
      }
      if (same) {
        p = next;
        ++n;
        continue;
      }
    }
    if (star == std::string_view::npos) return false;
    p = star + 1;
    n = ++star_name;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool matches_name(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  return wildcard(pattern, name);
}

GlobPattern::GlobPattern(std::string_view pattern) {
  while (!pattern.empty()) {
    const std::size_t slash = pattern.find('/');
    const std::string_view segment = pattern.substr(0, slash);
    const bool repeats = segment == "**" && !segments_.empty() && segments_.back() == "**";
    if (!segment.empty() && segment != "." && !repeats) segments_.emplace_back(segment);
    if (slash == std::string_view::npos) break;
    pattern.remove_prefix(slash + 1);
  }
}

bool GlobPattern::match(const std::vector<std::string>& path, std::size_t at, std::size_t segment,
                        bool as_prefix) const {
  if (at == path.size()) {
    if (as_prefix) return segment < segments_.size();
    for (; segment < segments_.size(); ++segment) {
      if (segments_[segment] != "**") return false;
    }
    return true;
  }
  if (segment == segments_.size()) return false;
  if (segments_[segment] == "**") {
    if (match(path, at, segment + 1, as_prefix)) return true;
    return !path[at].starts_with('.') && match(path, at + 1, segment, as_prefix);
  }
  return matches_name(segments_[segment], path[at]) && match(path, at + 1, segment + 1, as_prefix);
}

}  // namespace cay::keeper
