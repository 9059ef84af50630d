#include "model/ids.h"

#include <sys/random.h>

#include <array>

#include "base/ascii.h"
#include "base/assert.h"

namespace cay {
namespace {

bool is_alnum(char c) { return is_letter(c) || is_digit(c); }
bool is_word(char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; }

}  // namespace

std::string new_uuid() {
  std::array<unsigned char, 16> raw{};
  CAY_ASSERT(::getrandom(raw.data(), raw.size(), 0) == static_cast<ssize_t>(raw.size()));
  raw[6] = static_cast<unsigned char>((raw[6] & 0x0f) | 0x40);  // RFC 9562: version 4
  raw[8] = static_cast<unsigned char>((raw[8] & 0x3f) | 0x80);  // variant
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(36);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    out.push_back(kHex[raw[i] >> 4]);
    out.push_back(kHex[raw[i] & 15]);
  }
  return out;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? c != '-' : !is_lower_hex(c)) return false;
  }
  return true;
}

bool is_valid_command_id(std::string_view text) {
  if (text.empty() || text.size() > 128 || text.front() == '.' || text.front() == '-') return false;
  for (const char c : text) {
    if (!is_word(c)) return false;
  }
  return true;
}

bool is_valid_name(std::string_view text) {
  if (text.empty() || text.size() > 63 || !is_alnum(text.front()) || !is_alnum(text.back()))
    return false;
  for (const char c : text) {
    if (!is_word(c)) return false;
  }
  return true;
}

}  // namespace cay
