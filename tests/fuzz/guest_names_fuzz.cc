// Patterns over names that a guest chose, and any bytes made showable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "keeper/glob_pattern.h"
#include "keeper/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = in.find('\n');
  const std::string pattern_text(in.substr(0, std::min<std::size_t>(cut, 64)));
  const std::string_view rest =
      cut == std::string_view::npos ? std::string_view() : in.substr(cut + 1);
  const cay::keeper::GlobPattern pattern(pattern_text);
  const std::vector<std::string> path = {"a", "bc", std::string(rest.substr(0, 32))};
  if (pattern.matches(path)) {
    // A match is never pruned on the way.
    const std::vector<std::string> parents = {"a", "bc"};
    if (!pattern.may_contain(parents)) std::abort();
  }
  const std::string shown = cay::keeper::valid_utf8(in, 256);
  if (shown.size() > 256 || cay::keeper::valid_utf8(shown, 256) != shown) std::abort();
  return 0;
}
