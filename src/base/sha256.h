// SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104) of a string. Written here because the launcher
// and the keeper are static and link no crypto library.
#pragma once
#include <string>
#include <string_view>

namespace cay {

// 32 bytes.
std::string sha256(std::string_view bytes);

// The same as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

// 32 bytes. No branch and no memory access depends on the key's content.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

}  // namespace cay
