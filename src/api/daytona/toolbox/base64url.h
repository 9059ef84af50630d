// Base64 with the alphabet of URLs and without padding (RFC 4648, section 5).
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace cay::api::daytona {

std::string base64url(std::string_view bytes);
// Padding may be there. nullopt: it is none.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace cay::api::daytona
