// Characters of UTF-8 text, for patterns: "?" matches one character, not one byte.
#pragma once
#include <string>
#include <string_view>

namespace cay::dockerfile {

// Returns the code points. A byte that is not UTF-8 becomes a code point from 0xdc80 on, which no
// valid text has.
inline std::u32string runes_of(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
    char32_t rune = size == 1 ? first : first & (0xffU >> (size + 1));
    bool valid = size > 0 && at + size <= text.size();
    for (std::size_t i = 1; valid && i < size; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      valid = (next & 0xc0U) == 0x80;
      rune = rune << 6U | (next & 0x3fU);
    }
    constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    valid = valid && rune >= kLeast[size] && rune <= 0x10ffff && (rune < 0xd800 || rune > 0xdfff);
    out += valid ? rune : char32_t{0xdc00} + first;
    at += valid ? size : 1;
  }
  return out;
}

// Appends the bytes of a code point that runes_of() returned.
inline void append_rune(std::string& out, char32_t rune) {
  const auto byte = [&out](char32_t value) { out += static_cast<char>(value); };
  if (rune < 0x80) {
    byte(rune);
  } else if (rune < 0x800) {
    byte(0xc0U | rune >> 6U);
    byte(0x80U | (rune & 0x3fU));
  } else if (rune >= 0xdc80 && rune < 0xdd00) {  // a byte that was not UTF-8
    byte(rune - 0xdc00);
  } else if (rune < 0x10000) {
    byte(0xe0U | rune >> 12U);
    byte(0x80U | (rune >> 6U & 0x3fU));
    byte(0x80U | (rune & 0x3fU));
  } else {
    byte(0xf0U | rune >> 18U);
    byte(0x80U | (rune >> 12U & 0x3fU));
    byte(0x80U | (rune >> 6U & 0x3fU));
    byte(0x80U | (rune & 0x3fU));
  }
}

}  // namespace cay::dockerfile
