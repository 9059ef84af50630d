// MD5 of a string (RFC 1321). The package database names its files' contents by it; nothing here
// trusts it further.
#pragma once
#include <string>
#include <string_view>

namespace cay::launcher {

// 32 lower-case hex digits.
std::string md5_hex(std::string_view bytes);

}  // namespace cay::launcher
