#include "agent/llm/retry.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

#include "base/ascii.h"

namespace cay::agent {
namespace {

constexpr Millis kFirstPause{500};
constexpr Millis kLongestPause{8'000};
constexpr std::uint32_t kMostDoublings = 10;
constexpr double kSpread = 0.25;  // of a pause
constexpr double kExceed = 0.1;   // of a pause that the server wants
constexpr double kMostExceed = 1'000.0;
constexpr double kMillis = 1'000.0;
constexpr double kDay = 24 * 3'600 * kMillis;

template <class T>
std::optional<T> number(std::string_view text) {
  T out{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// A time of at least zero. from_chars reads no "1e9" and no "inf" in this form.
std::optional<Millis> duration(std::string_view text, double unit) {
  double value = 0;
  const auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value) || value < 0) return std::nullopt;
  return Millis(static_cast<std::int64_t>(std::ceil(std::min(value * unit, kDay))));
}

}  // namespace

std::optional<std::int64_t> from_http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  constexpr std::size_t kLength = 29;
  if (text.size() != kLength || text.substr(3, 2) != ", " || !text.ends_with(" GMT") ||
      text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':')
    return std::nullopt;
  const auto day = number<unsigned>(text.substr(5, 2));
  const auto* month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  const auto year = number<int>(text.substr(12, 4));
  const auto hour = number<unsigned>(text.substr(17, 2));
  const auto minute = number<unsigned>(text.substr(20, 2));
  const auto second = number<unsigned>(text.substr(23, 2));
  if (!day || month == kMonths.end() || !year || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(*year),
      std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
      std::chrono::day(*day)};
  constexpr unsigned kHours = 24, kSixty = 60;
  if (!date.ok() || *hour >= kHours || *minute >= kSixty || *second > kSixty) return std::nullopt;
  const auto time = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
                    std::chrono::minutes(*minute) + std::chrono::seconds(*second);
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

std::optional<Millis> retry_after(const http::Headers& headers, UnixMillis now) {
  if (const auto text = headers.get("retry-after-ms")) {
    if (const auto got = duration(trimmed(*text), 1)) return got;
  }
  const auto text = headers.get("Retry-After");
  if (!text) return std::nullopt;
  if (const auto got = duration(trimmed(*text), kMillis)) return got;
  const auto at = from_http_date(trimmed(*text));
  if (!at) return std::nullopt;
  const auto own = from_http_date(headers.get("Date").value_or(""));
  const std::int64_t from = own ? *own : now / static_cast<std::int64_t>(kMillis);
  const double seconds = static_cast<double>(std::max<std::int64_t>(*at - from, 0));
  return Millis(static_cast<std::int64_t>(std::min(seconds * kMillis, kDay)));
}

std::optional<bool> should_retry(const http::Headers& headers) {
  const auto text = headers.get("x-should-retry");
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

Millis pause_before(std::uint32_t next, std::optional<Millis> wanted, double random) {
  if (wanted) {
    const double more = std::min(static_cast<double>(wanted->count()) * kExceed, kMostExceed);
    return *wanted + Millis(static_cast<std::int64_t>(more * random));
  }
  const std::uint32_t doublings = std::min(next > 2 ? next - 2 : 0U, kMostDoublings);
  const Millis pause = std::min(kFirstPause * (1U << doublings), kLongestPause);
  return Millis(
      static_cast<std::int64_t>(static_cast<double>(pause.count()) * (1 - kSpread * random)));
}

}  // namespace cay::agent
