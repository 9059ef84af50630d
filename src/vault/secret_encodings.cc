#include "vault/secret_encodings.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "codec/base64.h"

namespace cay::vault {
namespace {

constexpr std::size_t kGroup = 3;  // bytes that become four letters of base64

// Returns the letters of base64 that depend on `secret` alone, with `before` bytes of another text
// ahead of it in its group.
std::string letters_of(std::string_view secret, std::size_t before) {
  std::string padded(before, '\0');
  padded += secret;
  std::string all = codec::base64(padded);
  wipe(padded);
  const std::size_t first = (before * 4 + 2) / 3;             // earlier letters depend on `before`
  const std::size_t last = (before + secret.size()) * 8 / 6;  // later ones on what follows
  std::string own = all.substr(first, last - first);
  wipe(all);
  return own;
}

bool is_white_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::optional<unsigned> hex_value(std::string_view digits) {
  unsigned out = 0;
  for (const char c : digits) {
    const int digit = hex_digit(c);
    if (digit < 0) return std::nullopt;
    out = out << 4 | static_cast<unsigned>(digit);
  }
  return out;
}

// `text` begins with a backslash.
Character json_escape(std::string_view text) {
  constexpr std::size_t kUnicode = 6;  // \u0041
  constexpr unsigned kMostAscii = 0x7f;
  const char kind = text.size() > 1 ? text[1] : '\0';
  if (kind == 'u' && text.size() >= kUnicode) {
    const auto value = hex_value(text.substr(2, 4));
    if (value && *value <= kMostAscii) return {static_cast<char>(*value), kUnicode};
  }
  switch (kind) {
    case '"':
    case '\\':
    case '/': return {kind, 2};
    case 'n': return {'\n', 2};
    case 'r': return {'\r', 2};
    case 't': return {'\t', 2};
    default: return {'\\', 1};
  }
}

bool matches(std::string_view text, const SecretEncodings::Pattern& pattern, Escaping escaping) {
  for (const char wanted : pattern.text.view()) {
    Character next = first_character(text, escaping);
    while (pattern.is_base64 && next.size > 0 && is_white_space(next.value)) {
      text.remove_prefix(next.size);
      next = first_character(text, escaping);
    }
    // Forms write a blank as a plus sign.
    const bool is_blank =
        escaping == Escaping::kPercent && wanted == ' ' && next.value == '+' && next.size == 1;
    if (next.size == 0 || (next.value != wanted && !is_blank)) return false;
    text.remove_prefix(next.size);
  }
  return true;
}

}  // namespace

Character first_character(std::string_view text, Escaping escaping) {
  constexpr std::size_t kPercent = 3;  // %41
  if (text.empty()) return {};
  if (escaping == Escaping::kPercent && text[0] == '%' && text.size() >= kPercent) {
    if (const auto value = hex_value(text.substr(1, 2)))
      return {static_cast<char>(*value), kPercent};
  }
  if (escaping == Escaping::kJson && text[0] == '\\') return json_escape(text);
  return {text[0], 1};
}

SecretEncodings::SecretEncodings(std::string_view secret)
    : longest_(std::min(secret.size(), kMostSought) * kMostGrowth) {
  secret = secret.substr(0, kMostSought);
  patterns_.push_back({Wiped(std::string(secret)), false});
  for (std::size_t before = 0; before < kGroup; ++before) {
    Wiped standard(letters_of(secret, before));
    Wiped for_urls{std::string(standard.view())};
    std::ranges::replace(for_urls.bytes(), '+', '-');
    std::ranges::replace(for_urls.bytes(), '/', '_');
    const bool differ = for_urls.view() != standard.view();
    patterns_.push_back({std::move(standard), true});
    if (differ) patterns_.push_back({std::move(for_urls), true});
  }
}

bool SecretEncodings::begins(std::string_view text, const Pattern& pattern) const {
  text = text.substr(0, longest_);
  const std::string_view plain = pattern.text.view();
  const auto differ = std::ranges::mismatch(text, plain);
  if (differ.in2 == plain.end()) return true;
  // Only an escape, or white space within base64, can make up for the difference.
  const auto same = static_cast<std::size_t>(differ.in1 - text.begin());
  const std::string_view may_differ = pattern.is_base64 ? "%\\ \t\r\n" : "%\\+";
  if (text.substr(0, same + 1).find_first_of(may_differ) == std::string_view::npos) return false;
  return matches(text, pattern, Escaping::kNone) || matches(text, pattern, Escaping::kPercent) ||
         matches(text, pattern, Escaping::kJson);
}

}  // namespace cay::vault
