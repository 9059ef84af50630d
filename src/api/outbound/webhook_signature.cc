#include "api/outbound/webhook_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/assert.h"
#include "codec/base64.h"

namespace cay::api {

Result<std::string> webhook_key(std::string_view secret) {
  constexpr std::string_view kPrefix = "whsec_";
  constexpr std::size_t kShortest = 24;
  constexpr std::size_t kLongest = 64;
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == ' '))
    secret.remove_suffix(1);
  const auto key = secret.starts_with(kPrefix) ? codec::from_base64(secret.substr(kPrefix.size()))
                                               : std::nullopt;
  if (key && key->size() >= kShortest && key->size() <= kLongest) return *key;
  return Error{Code::kInvalidArgument, "bad_webhook_secret",
               "a webhook's secret is whsec_ and 24 to 64 bytes in base64: make one with "
               "`echo whsec_$(head -c 32 /dev/urandom | base64 -w0)`",
               0};
}

std::string webhook_signature(const std::string& key, std::string_view id, std::int64_t seconds,
                              std::string_view body) {
  const std::string text =
      std::string(id) + "." + std::to_string(seconds) + "." + std::string(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const auto* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes,
                          text.size(), mac.data(), &length);
  CAY_ASSERT(made != nullptr);
  return "v1," + codec::base64(std::string_view(reinterpret_cast<const char*>(mac.data()), length));
}

}  // namespace cay::api
