// Base64 (RFC 4648, section 4: the standard alphabet, padded).
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace cay::codec {

std::string base64(std::string_view bytes);
// nullopt: not base64. Strict: padding is needed, nothing else is allowed in between.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace cay::codec
