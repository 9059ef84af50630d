#include "api/daytona/toolbox/signed_files.h"

#include <charconv>

#include "api/daytona/toolbox/base64url.h"
#include "api/daytona/toolbox/errors.h"
#include "base/sha256.h"

namespace cay::api::daytona {
namespace {

// Compares without a branch on the content.
bool same_text(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    differs |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  return differs == 0;
}

}  // namespace

std::string file_signature(std::string_view key, std::string_view method, std::string_view path,
                           std::string_view expires) {
  std::string message = "v1:files:";
  message.append(method).append(":").append(path).append(":").append(expires);
  return "v1_" + base64url(hmac_sha256(key, message));
}

Result<void> check_signature(const http::RequestHead& head, std::string_view key,
                             std::int64_t now_s) {
  const auto path = head.query.get("path").value_or("");
  const auto expires = head.query.get("expires").value_or("");
  const auto signature = head.query.get("signature").value_or("");
  if (key.empty() || !same_text(signature, file_signature(key, head.method, path, expires)))
    return vendor_error(kUnauthorized, "invalid signature");
  std::int64_t until = 0;
  const char* const end = expires.data() + expires.size();
  const auto read = std::from_chars(expires.data(), end, until);
  if (read.ec != std::errc() || read.ptr != end)
    return vendor_error(kUnauthorized, "invalid expiry");
  if (until != 0 && until <= now_s) return vendor_error(kUnauthorized, "signed URL has expired");
  return {};
}

bool has_signature(const http::RequestHead& head) {
  return head.query.get("signature") && !head.headers.get("Authorization");
}

}  // namespace cay::api::daytona
