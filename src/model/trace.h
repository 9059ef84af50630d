// Traces: W3C trace context (https://www.w3.org/TR/trace-context/), and the spans that Cay adds.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace cay {

struct TraceContext {
  std::string trace_id;  // 32 hex digits; empty: no trace
  std::string span_id;   // 16 hex digits: the parent of what comes
  bool sampled = false;

  explicit operator bool() const { return !trace_id.empty(); }
  bool operator==(const TraceContext&) const = default;
};

// Parses a traceparent header. nullopt: it is none, and the standard has it ignored then.
std::optional<TraceContext> parse_traceparent(std::string_view text);
std::string traceparent(const TraceContext& trace);
// The same trace with a new span of ours as the parent of what comes.
TraceContext child_of(const TraceContext& trace);

struct Span {
  TraceContext trace;     // span_id: its own
  std::string parent_id;  // empty: none
  std::string name;
  bool server = false;  // a request that was served; else internal
  UnixMillis begin = 0, end = 0;
  std::map<std::string, std::string> attributes;
  std::string error;  // empty: it went well
};

}  // namespace cay
