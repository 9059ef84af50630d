// How programs behind a server read the names of header fields.
#pragma once
#include <algorithm>
#include <string_view>

namespace cay {

// A character of a name, as CGI and its heirs (WSGI, Rack, PHP) read it: "X_Real.IP" and "x-real-ip" are one variable there. What is not a letter or a digit
// is '-', and letters are small (RFC 3875, 4.1.18; lighttpd and PHP take more characters for '_' than that says).
constexpr char as_programs_read(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ? c : '-';
}

// Whether a program may take a field of the first name for one of the other: in other letters, and with '_' for '-', which gateways to programs make of it.
constexpr bool reads_as(std::string_view name, std::string_view other) { return std::ranges::equal(name, other, {}, as_programs_read, as_programs_read); }

}  // namespace cay
