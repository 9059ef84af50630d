// SHA-256 of a string (FIPS 180-4). Our own: the launcher is static and links no crypto library.
#pragma once
#include <string>
#include <string_view>

namespace cay::launcher {

// 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace cay::launcher
