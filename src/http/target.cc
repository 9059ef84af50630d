// Request targets (RFC 9112, 3.2; RFC 3986, 2.1).
#include "http/target.h"

#include <algorithm>

#include "base/ascii.h"

namespace cay::http {

std::optional<std::string> percent_decode(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus == Plus::kSpace) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    out.push_back(c);
  }
  return out;
}

std::optional<std::vector<std::string>> split_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return std::nullopt;
  path.remove_prefix(1);
  std::vector<std::string> segments;
  if (path.empty()) return segments;
  for (;;) {
    const auto end = std::min(path.find('/'), path.size());
    auto segment = percent_decode(path.substr(0, end), Plus::kLiteral);
    if (!segment) return std::nullopt;
    segments.push_back(*std::move(segment));
    if (end == path.size()) return segments;
    path.remove_prefix(end + 1);
  }
}

std::optional<TargetParts> split_target(std::string_view target) {
  TargetParts parts;
  if (target.find('#') != std::string_view::npos) return std::nullopt;
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const auto end = std::min(target.find_first_of("/?"), target.size());
    parts.authority = target.substr(0, end);
    if (parts.authority.empty()) return std::nullopt;
    target.remove_prefix(end);
    break;
  }
  const auto mark = std::min(target.find('?'), target.size());
  parts.path = target.substr(0, mark);
  parts.query = target.substr(std::min(mark + 1, target.size()));
  if (parts.path.empty() && !parts.authority.empty()) parts.path = "/";
  if (parts.path.empty() || parts.path.front() != '/') return std::nullopt;
  return parts;
}

}  // namespace cay::http
