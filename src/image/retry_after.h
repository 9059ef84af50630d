// The header Retry-After (RFC 9110, section 10.2.3).
#pragma once
#include <cstdint>
#include <ctime>
#include <string>

namespace cay::image {

// Returns the seconds to wait at `now`. 0: the text is neither seconds nor a date in the future.
std::int64_t seconds_until(const std::string& retry_after, std::time_t now);

}  // namespace cay::image
