// RequestPath: the path of a request to a host whose rules list paths. A path that two servers
// could read in two ways is refused.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cay::vault {

inline constexpr std::size_t kMostRequestPath = 4096;

struct RequestPath {
  std::string read;  // decoded, without dot segments: what patterns are held against
  std::string
      sent;  // in its place: reads the same, and has nothing left in it to be read otherwise
};

// Returns the path without its query. Returns nothing if the path is too long, leads above the
// root, or has two slashes in a row. A backslash, '#', a blank, a byte beyond ASCII and a broken
// escape are refused. So is an escape of '/', '\', '.', '%', '?', '#' or of a control character.
// Escapes that form no UTF-8 are refused. So is a segment of dots and blanks other than "." and
// "..", with or without parameters (RFC 3986, 3.3).
std::optional<RequestPath> read_path(std::string_view path);

}  // namespace cay::vault
