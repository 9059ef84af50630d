// Text helpers of the HTTP grammar (RFC 9110, 5.6): ASCII only, whatever the locale.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cay::http {

char to_lower(char c);
bool equals_ignoring_case(std::string_view a, std::string_view b);
bool is_token(std::string_view text);             // not empty, only tchar
std::string_view trim(std::string_view text);     // SP and HTAB
// "a, b" -> {"a","b"}, empty members dropped.
std::vector<std::string_view> split_list(std::string_view value);
// Whether a comma-separated header value has this member (ignoring case).
bool list_has(std::string_view value, std::string_view member);

}  // namespace cay::http
