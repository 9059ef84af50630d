// Conditional and ranged requests (RFC 9110, sections 13 and 14), as far as one range goes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace cay::api {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // inclusive
};

enum class RangeKind {
  kWhole,  // no Range, or one that is to be ignored
  kPart,
  kUnsatisfiable,  // 416
};
struct RangeAnswer {
  RangeKind kind = RangeKind::kWhole;
  ByteRange range;  // kPart: clamped to the size
};

// One range of "bytes=a-b", "bytes=a-", "bytes=-n". Anything else, several ranges too, is ignored.
RangeAnswer range_of(std::string_view header, std::uint64_t size);

// If-None-Match: "*", or a list with `etag` in it (weak comparison).
bool none_match_hits(std::string_view header, std::string_view etag);

// The answer to a GET of something with this tag and size.
struct Wanted {
  bool not_modified = false;  // 304
  RangeAnswer range;
};
Wanted wanted_of(const http::Headers& headers, std::string_view etag,
                 std::string_view last_modified, std::uint64_t size);

}  // namespace cay::api
