// Fuzzes the path of a guest's request against patterns. A path that is accepted has one reading,
// for Cay and for a server that decodes once more.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/path_pattern.h"
#include "vault/request_path.h"

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// As the plainest server would: every escape, once.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
    } else {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\n');
  const std::string_view path = text.substr(0, cut), pattern = cut == std::string_view::npos
                                                                   ? std::string_view()
                                                                   : text.substr(cut + 1);
  const auto got = vault::read_path(path);
  if (!got) return 0;
  if (!got->read.starts_with('/') || has(got->read, "//") || has(got->read, "\\") ||
      has(got->read + "/", "/../") || has(got->read + "/", "/./"))
    std::abort();
  if (has(got->read, std::string_view("\0", 1)) || has(got->read, "%")) std::abort();
  if (decoded(got->sent) != got->read) std::abort();
  const auto again = vault::read_path(got->sent);
  if (!again || again->read != got->read || again->sent != got->sent) std::abort();
  if (!path_matches("**", got->read) || !path_matches("/**", got->read)) std::abort();
  if (got->read.size() <= kMostPathPattern && !has(got->read, "*") &&
      !path_matches(got->read, got->read))
    std::abort();
  static_cast<void>(is_path_pattern(pattern));
  static_cast<void>(path_matches(pattern, got->read));
  return 0;
}
