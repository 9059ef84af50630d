#include "archive/tar_parser.h"

namespace cay::archive {

Result<std::string> safe_entry_path(std::string_view name, const TarLimits& limits) {
  const auto unsafe = [&](const char* why) {
    constexpr std::size_t kShown = 200;
    return Error{Code::kInvalidArgument, "unsafe_path",
                 "the archive's entry '" + std::string(name.substr(0, kShown)) + "' " + why, 0};
  };
  if (name.starts_with('/')) return unsafe("has an absolute path");
  if (name.size() > limits.path_bytes) return unsafe("has too long a path");
  if (name.find('\0') != std::string_view::npos) return unsafe("holds a NUL");
  std::string out;
  std::size_t depth = 0;
  while (!name.empty()) {
    const auto slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part == "..") return unsafe("leaves the directory by '..'");
    if (!part.empty() && part != ".") {
      if (++depth > limits.depth) return unsafe("lies too deep");
      if (!out.empty()) out += '/';
      out += part;
    }
    if (slash == std::string_view::npos) break;
    name.remove_prefix(slash + 1);
  }
  return out;
}

}  // namespace cay::archive
