#include "vault/request_path.h"

#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "codec/utf8.h"

namespace cay::vault {
namespace {

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

// RFC 3986, 2.3: encoded or not, these are the same.
bool is_unreserved(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// Nothing: not to be read in one way.
std::optional<RequestPath> read_segment(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  RequestPath out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte <= ' ' || byte >= 0x7f || text[i] == '\\' || text[i] == '#' || text[i] == '?')
        return std::nullopt;
      out.read += text[i];
      out.sent += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1,
              low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    const char c = static_cast<char>(high * 16 + low);
    // A server that decodes twice, or before it splits the path, would read another path.
    if (is_control(static_cast<unsigned char>(c)) ||
        std::string_view("/\\.%?#").find(c) != std::string_view::npos)
      return std::nullopt;
    out.read += c;
    if (is_unreserved(c)) {
      out.sent += c;
    } else {
      out.sent += {'%', kHex[high], kHex[low]};
    }
    i += 2;
  }
  if (!codec::is_utf8(out.read)) return std::nullopt;
  return out;
}

// Some servers cut parameters off, and blanks and dots at an end, before they look for dot
// segments.
bool is_hidden_dots(std::string_view segment) {
  if (segment.empty() || segment == "." || segment == "..") return false;
  const std::string_view bare = segment.substr(0, std::min(segment.find(';'), segment.size()));
  return std::ranges::all_of(bare, [](char c) { return c == '.' || c == ' '; });
}

}  // namespace

std::optional<RequestPath> read_path(std::string_view path) {
  if (!path.starts_with('/') || path.size() > kMostRequestPath) return std::nullopt;
  std::vector<RequestPath> segments;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    auto segment = read_segment(path.substr(at, end - at));
    const bool last = end == path.size();
    if (!segment || is_hidden_dots(segment->read) || (segment->read.empty() && !last))
      return std::nullopt;
    const bool here = segment->read == ".", up = segment->read == "..";
    if (up && segments.empty()) return std::nullopt;
    if (up) segments.pop_back();
    if (!here && !up) {
      segments.push_back(*std::move(segment));
    } else if (last) {
      segments.emplace_back();  // "/a/." is "/a/"
    }
    at = end + 1;
  }
  RequestPath out;
  for (const RequestPath& one : segments) {
    out.read += "/" + one.read;
    out.sent += "/" + one.sent;
  }
  return out;
}

}  // namespace cay::vault
