// Signatures of webhooks, by the Standard Webhooks specification. A receiver with the secret can
// check that a message is ours, whole, and not an old one sent again.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cay::api {

// The key in "whsec_BASE64". kInvalidArgument (bad_webhook_secret) unless it is 24 to 64 bytes.
Result<std::string> webhook_key(std::string_view secret);

// The value of webhook-signature: "v1,BASE64" of HMAC-SHA256 over "ID.SECONDS.BODY".
std::string webhook_signature(const std::string& key, std::string_view id, std::int64_t seconds,
                              std::string_view body);

}  // namespace cay::api
