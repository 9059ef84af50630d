// The paths that a rule names: "/v1/models" is that path alone, '*' anything within one segment,
// '**' anything at all. A pattern is written as the path is read: without %, '.' or '..'.
#pragma once
#include <cstddef>
#include <string_view>

namespace cay {

inline constexpr std::size_t kMostPathPattern = 256;

bool is_path_pattern(std::string_view text);
// `path` as it was read: decoded, and without dot segments. In time of the path's length alone,
// whatever the pattern.
bool path_matches(std::string_view pattern, std::string_view path);

}  // namespace cay
