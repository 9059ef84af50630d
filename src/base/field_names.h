// How programs behind a server read the names of header fields.
#pragma once
#include <algorithm>
#include <string_view>

#include "base/ascii.h"

namespace cay {

// Returns a character of a field name as CGI and similar gateways read it. They make one variable
// of "X_Real.IP" and "x-real-ip": letters become small, and anything but a letter or digit becomes
// '-' (RFC 3875, 4.1.18; some servers map more characters than it states).
constexpr char as_programs_read(char c) { return is_letter(c) || is_digit(c) ? lower(c) : '-'; }

// Returns true if a program may read a field of the first name as one of the other name. Letter
// case does not count, and gateways to programs write '_' for '-'.
constexpr bool reads_as(std::string_view name, std::string_view other) {
  return std::ranges::equal(name, other, {}, as_programs_read, as_programs_read);
}

}  // namespace cay
