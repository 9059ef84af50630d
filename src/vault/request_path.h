// The path of a request to a host whose rules list paths: read in one way, or not at all. What a
// server might read as another path than we did is refused.
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

// Without its query. Nothing: an escape of '/', '\', '.', '%', '?', '#' or of a control character,
// a broken one, or what is no UTF-8; '\', '#', a blank or a byte beyond ASCII; two slashes; a
// segment of dots and blanks other than "." and "..", or of one of them and parameters (RFC
// 3986, 3.3); a way above the root; too long.
std::optional<RequestPath> read_path(std::string_view path);

}  // namespace cay::vault
