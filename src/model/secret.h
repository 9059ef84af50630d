// Secrets that Cay gives out (API keys, the tokens of links): made at random, shown once, kept as
// hashes.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace cay {

using SecretHash = std::array<unsigned char, 32>;  // SHA-256

// 43 letters and digits: about 256 bits from the kernel.
std::string new_secret();
SecretHash hash_secret(std::string_view secret);
// Compares in a time that does not depend on the values.
bool equal_hashes(const SecretHash& one, const SecretHash& other);

std::string to_hex(const SecretHash& hash);
std::optional<SecretHash> hash_from_hex(std::string_view hex);

}  // namespace cay
