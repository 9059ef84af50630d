#include "os/state_line.h"

#include <fcntl.h>

#include <algorithm>

#include "os/file.h"

namespace cay::os {

std::string state_line(const std::string& path) {
  constexpr std::size_t kMost = 512;
  std::string text = read_file(AT_FDCWD, path, 2 * kMost).value_or("");
  text.resize(std::min({text.size(), text.find('\n'), kMost}));
  const bool visible = std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
  return visible ? text : "";
}

}  // namespace cay::os
