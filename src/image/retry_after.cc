#include "image/retry_after.h"

#include <algorithm>
#include <charconv>

namespace cay::image {

std::int64_t seconds_until(const std::string& retry_after, std::time_t now) {
  std::int64_t seconds = 0;
  const char* const end = retry_after.data() + retry_after.size();
  const auto [rest, wrong] = std::from_chars(retry_after.data(), end, seconds);
  if (wrong == std::errc() && rest == end) return std::max<std::int64_t>(seconds, 0);
  std::tm date{};
  if (::strptime(retry_after.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) == nullptr) return 0;
  return std::max<std::int64_t>(::timegm(&date) - now, 0);
}

}  // namespace cay::image
