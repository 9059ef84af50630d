// Letters, digits and blanks of ASCII. Nothing here depends on the locale, and bytes outside ASCII
// stay as they are.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

namespace cay {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool is_letter(char c) { return is_upper(c) || is_lower(c); }

// Returns the value of a hexadecimal digit in either case, or -1.
constexpr int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

// Digests and ids are written in these digits alone.
constexpr bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// Returns the text in lower case.
inline std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

// Returns the text without the blanks at its two ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t") {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace cay
