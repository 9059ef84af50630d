// URLs of files that are signed with the sandbox's key and need no other (protocol reference,
// section 4).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace cay::api::daytona {

// "v1_" and the signature in base64url. `expires`: in seconds since 1970; 0: never.
std::string file_signature(std::string_view key, std::string_view method, std::string_view path,
                           std::string_view expires);

// Checks a signed request. Fails UNAUTHORIZED: another signature, or its time has passed.
Result<void> check_signature(const http::RequestHead& head, std::string_view key,
                             std::int64_t now_s);

// Whether the request comes by a signed URL: it has a signature and no key.
bool has_signature(const http::RequestHead& head);

}  // namespace cay::api::daytona
