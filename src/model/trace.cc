#include "model/trace.h"

#include <algorithm>

#include "base/ascii.h"
#include "model/ids.h"

namespace cay {
namespace {

constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kSpanDigits = 16;

bool is_hex(std::string_view text) { return std::all_of(text.begin(), text.end(), is_lower_hex); }

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

std::string new_span_id() {
  std::string digits = new_uuid();
  std::erase(digits, '-');
  // The last half of a version 4 UUID: 62 random bits behind two fixed ones.
  return digits.substr(kSpanDigits, kSpanDigits);
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  // version "-" trace-id "-" parent-id "-" flags; later versions may add "-…" behind.
  constexpr std::size_t kLength = 55;
  constexpr std::size_t kTraceAt = 3;
  constexpr std::size_t kSpanAt = 36;
  constexpr std::size_t kFlagsAt = 53;
  if (text.size() < kLength || text[2] != '-' || text[kSpanAt - 1] != '-' ||
      text[kFlagsAt - 1] != '-')
    return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(kTraceAt, kTraceDigits);
  const std::string_view span = text.substr(kSpanAt, kSpanDigits);
  const std::string_view flags = text.substr(kFlagsAt, 2);
  if (!is_hex(version) || !is_hex(trace) || !is_hex(span) || !is_hex(flags)) return std::nullopt;
  if (version == "ff" || is_zero(trace) || is_zero(span)) return std::nullopt;
  if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return std::nullopt;
  return TraceContext{std::string(trace), std::string(span), (hex_digit(flags[1]) & 1) != 0};
}

std::string traceparent(const TraceContext& trace) {
  return "00-" + trace.trace_id + "-" + trace.span_id + (trace.sampled ? "-01" : "-00");
}

TraceContext child_of(const TraceContext& trace) {
  TraceContext out = trace;
  out.span_id = new_span_id();
  return out;
}

}  // namespace cay
