#include "dockerfile/paths.h"

#include <vector>

namespace cay::dockerfile {

std::string clean_path(std::string_view path) {
  const bool rooted = path.starts_with('/');
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!rooted) {
      parts.push_back(part);
    }
  }
  std::string out = rooted ? "/" : "";
  for (const auto part : parts) {
    if (!out.empty() && out.back() != '/') out += '/';
    out += part;
  }
  return out.empty() ? "." : out;
}

std::string absolute_path(std::string_view base, std::string_view path) {
  if (path.starts_with('/')) return clean_path(path);
  return clean_path("/" + std::string(base) + "/" + std::string(path));
}

std::string path_below_root(std::string_view path) {
  const std::string rooted = clean_path("/" + std::string(path));
  return rooted == "/" ? "." : rooted.substr(1);
}

}  // namespace cay::dockerfile
