// Text helpers of the HTTP grammar (RFC 9110, 5.6): ASCII only, whatever the locale.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cay::http {

bool is_token(std::string_view text);  // not empty, only tchar
// A host name without the dots of its absolute form (RFC 3986, 3.2.2): "box.test." is "box.test".
std::string_view relative_name(std::string_view host);
// "a, b" -> {"a","b"}, empty members dropped.
std::vector<std::string_view> split_list(std::string_view value);
// Whether a comma-separated header value has this member (ignoring case).
bool list_has(std::string_view value, std::string_view member);

}  // namespace cay::http
