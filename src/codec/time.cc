#include "codec/time.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "base/ascii.h"

namespace cay::codec {
namespace {

using std::chrono::days;
using std::chrono::hh_mm_ss;
using std::chrono::milliseconds;
using std::chrono::sys_days;
using std::chrono::sys_time;
using std::chrono::year_month_day;

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Writes the last `count` digits of a number that is not negative.
void put(std::string& out, std::size_t at, std::size_t count, std::int64_t number) {
  for (std::size_t i = at + count; i-- > at; number /= 10)
    out[i] = static_cast<char>('0' + number % 10);
}

}  // namespace

std::string rfc3339(UnixMillis time) {
  const sys_time<milliseconds> point{milliseconds(time)};
  const auto day = std::chrono::floor<days>(point);
  const year_month_day date(day);
  const hh_mm_ss clock(point - day);
  const int year = static_cast<int>(date.year());
  std::string out = "0000-00-00T00:00:00.000Z";
  // By hand: several are in each answer, and printf takes long.
  put(out, 5, 2, static_cast<unsigned>(date.month()));
  put(out, 8, 2, static_cast<unsigned>(date.day()));
  put(out, 11, 2, clock.hours().count());
  put(out, 14, 2, clock.minutes().count());
  put(out, 17, 2, clock.seconds().count());
  put(out, 20, 3, clock.subseconds().count());
  if (year >= 0 && year <= 9999) {
    put(out, 0, 4, year);
  } else {
    std::array<char, 16> wide{};
    const int size = std::snprintf(wide.data(), wide.size(), "%04d", year);
    out.replace(0, 4, wide.data(), static_cast<std::size_t>(size));
  }
  return out;
}

std::optional<UnixMillis> from_rfc3339(std::string_view text) {
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2);
  const auto minute = digits(text, 14, 2);
  const auto second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const year_month_day date(std::chrono::year(*year),
                            std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::size_t at = 19;
  int millis = 0;
  if (at < text.size() && text[at] == '.') {
    int scale = 100;
    std::size_t count = 0;
    for (++at; at < text.size() && is_digit(text[at]); ++at, ++count) {
      millis += scale * (text[at] - '0');
      scale /= 10;
    }
    if (count == 0 || count > 9) return std::nullopt;
  }
  std::int64_t offset_minutes = 0;
  if (at + 1 == text.size() && (text[at] == 'Z' || text[at] == 'z')) {
    // UTC.
  } else if (at + 6 == text.size() && (text[at] == '+' || text[at] == '-') && text[at + 3] == ':') {
    const auto off_hour = digits(text, at + 1, 2);
    const auto off_minute = digits(text, at + 4, 2);
    if (!off_hour || !off_minute || *off_hour > 23 || *off_minute > 59) return std::nullopt;
    offset_minutes = (text[at] == '-' ? -1 : 1) * (*off_hour * 60 + *off_minute);
  } else {
    return std::nullopt;
  }
  const std::int64_t seconds = sys_days(date).time_since_epoch().count() * std::int64_t{86'400} +
                               *hour * 3600 + *minute * 60 + *second - offset_minutes * 60;
  return seconds * 1000 + millis;
}

std::string http_date(std::int64_t seconds) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const sys_time<std::chrono::seconds> point{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<days>(point);
  const year_month_day date(day);
  const hh_mm_ss clock(point - day);
  std::array<char, 64> out{};
  const int size = std::snprintf(
      out.data(), out.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
      kDays[std::chrono::weekday(day).c_encoding()], static_cast<unsigned>(date.day()),
      kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return std::string(out.data(), static_cast<std::size_t>(size));
}

}  // namespace cay::codec
