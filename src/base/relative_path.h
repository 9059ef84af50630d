// The rule for paths below a root that come from elsewhere.
#pragma once
#include <algorithm>
#include <string_view>

namespace cay {

// Whether `path` is relative, without empty parts, "." and "..", and has no NUL; "" is.
inline bool is_plain_relative(std::string_view path) {
  if (path.empty()) return true;
  if (path.find('\0') != std::string_view::npos) return false;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, slash - at);
    if (part.empty() || part == "." || part == "..") return false;
    at = slash + 1;
  }
  return true;
}

}  // namespace cay
