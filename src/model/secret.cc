#include "model/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <memory>

#include "base/ascii.h"
#include "base/assert.h"

namespace cay {

std::string new_secret() {
  static constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::size_t kLength = 43;
  // Values past the last whole multiple would make some letters likelier.
  constexpr unsigned kFair = 256 - 256 % 62;
  std::string secret;
  while (secret.size() < kLength) {
    unsigned char byte = 0;
    CAY_ASSERT(::getrandom(&byte, 1, 0) == 1);
    if (byte < kFair) secret.push_back(kLetters[byte % kLetters.size()]);
  }
  return secret;
}

SecretHash hash_secret(std::string_view secret) {
  // The one-shot functions look the algorithm up by its name each time.
  static EVP_MD* const kSha256 = ::EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(
      ::EVP_MD_CTX_new(), ::EVP_MD_CTX_free);
  SecretHash out;
  CAY_ASSERT(::EVP_DigestInit_ex(context.get(), kSha256, nullptr) == 1 &&
             ::EVP_DigestUpdate(context.get(), secret.data(), secret.size()) == 1 &&
             ::EVP_DigestFinal_ex(context.get(), out.data(), nullptr) == 1);
  return out;
}

bool equal_hashes(const SecretHash& one, const SecretHash& other) {
  return ::CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string to_hex(const SecretHash& hash) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : hash) {
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
  return out;
}

std::optional<SecretHash> hash_from_hex(std::string_view hex) {
  SecretHash out;
  if (hex.size() != out.size() * 2) return std::nullopt;
  const auto digit = [](char c) { return is_lower_hex(c) ? hex_digit(c) : -1; };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return out;
}

}  // namespace cay
