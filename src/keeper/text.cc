#include "keeper/text.h"

namespace cay::keeper {
namespace {

// The length of the well-formed character at the front; 0 if there is none (RFC 3629).
std::size_t character(std::string_view in) {
  const auto at = [&in](std::size_t i) { return static_cast<unsigned char>(in[i]); };
  const auto tail = [&](std::size_t i) { return i < in.size() && (at(i) & 0xc0) == 0x80; };
  const unsigned char c = at(0);
  if (c < 0x80) return 1;
  if (c >= 0xc2 && c <= 0xdf) return tail(1) ? 2 : 0;
  if (c >= 0xe0 && c <= 0xef) {
    if (!tail(1) || !tail(2)) return 0;
    if (c == 0xe0 && at(1) < 0xa0) return 0;  // overlong
    if (c == 0xed && at(1) > 0x9f) return 0;  // surrogates
    return 3;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (c == 0xf0 && at(1) < 0x90) return 0;
    if (c == 0xf4 && at(1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

std::string valid_utf8(std::string_view bytes, std::size_t limit) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string out;
  while (!bytes.empty()) {
    const std::size_t length = character(bytes);
    const std::string_view next = length > 0 ? bytes.substr(0, length) : kReplacement;
    if (out.size() + next.size() > limit) break;
    out += next;
    bytes.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

}  // namespace cay::keeper
