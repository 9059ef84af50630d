// Times as text: RFC 3339, UTC.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace cay::codec {

// "2026-11-21T00:00:00.000Z": exactly three fraction digits (some clients parse only that).
std::string rfc3339(UnixMillis time);
// Whole seconds, or 1-9 fraction digits; 'Z' or an offset. nullopt: not RFC 3339.
std::optional<UnixMillis> from_rfc3339(std::string_view text);
// "Sat, 21 Nov 2026 00:00:00 GMT" (RFC 9110, IMF-fixdate).
std::string http_date(std::int64_t seconds);

}  // namespace cay::codec
