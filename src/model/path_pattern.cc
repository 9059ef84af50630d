#include "model/path_pattern.h"

#include <algorithm>
#include <array>
#include <bitset>

namespace cay {
namespace {

// State n: the first n literals were met. A star before a literal keeps its state.
using States = std::bitset<kMostPathPattern + 1>;

}  // namespace

bool is_path_pattern(std::string_view text) {
  if (text == "**") return true;
  if (text.size() > kMostPathPattern || !text.starts_with('/') ||
      text.find("//") != std::string_view::npos)
    return false;
  if (!std::ranges::all_of(text, [](char c) {
        return c > ' ' && c < 0x7f && std::string_view("%?#\\").find(c) == std::string_view::npos;
      }))
    return false;
  for (std::size_t at = 1; at <= text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    const std::string_view segment = text.substr(at, end - at);
    if (segment == "." || segment == "..") return false;
    at = end + 1;
  }
  return true;
}

bool path_matches(std::string_view pattern, std::string_view path) {
  if (pattern.size() > kMostPathPattern) return false;
  std::array<States, 256> meets{};
  States within, over;
  std::size_t literals = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '*') {
      meets[static_cast<unsigned char>(pattern[i])].set(literals++);
      continue;
    }
    const bool wide = pattern.substr(i).starts_with("**");
    (wide ? over : within).set(literals);
    if (wide) ++i;
  }
  States now;
  now.set(0);
  for (const char c : path) {
    const States met = (now & meets[static_cast<unsigned char>(c)]) << 1;
    const States kept = now & (c == '/' ? over : over | within);
    now = met | kept;
    if (now.none()) return false;
  }
  return now.test(literals);
}

}  // namespace cay
