// lines_of: the lines of a text.
#pragma once
#include <string_view>
#include <vector>

namespace cay {

// Returns views of the lines without their newlines. A newline at the end begins no further line.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace cay
