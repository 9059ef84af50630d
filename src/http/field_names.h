// How programs behind a server read the names of fields.
#pragma once

namespace cay::http {

// A character of a name, as CGI and its heirs (WSGI, Rack, PHP) read it: "X_Real.IP" and "x-real-ip" are one variable there. What is not a letter or a digit
// is '-', and letters are small (RFC 3875, 4.1.18; lighttpd and PHP take more characters for '_' than that says).
constexpr char as_programs_read(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ? c : '-';
}

}  // namespace cay::http
