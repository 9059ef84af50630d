#include "api/common/ranges.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace cay::api {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return value;
}

}  // namespace

RangeAnswer range_of(std::string_view header, std::uint64_t size) {
  const auto equals = header.find('=');
  if (equals == std::string_view::npos ||
      !equals_ignoring_case(trimmed(header.substr(0, equals)), "bytes"))
    return {};
  const std::string_view spec = trimmed(header.substr(equals + 1));
  const auto dash = spec.find('-');
  if (dash == std::string_view::npos || spec.find(',') != std::string_view::npos) return {};
  const std::string_view from = trimmed(spec.substr(0, dash));
  const std::string_view to = trimmed(spec.substr(dash + 1));
  if (from.empty()) {
    const auto suffix = number(to);
    if (!suffix) return {};
    if (*suffix == 0 || size == 0) return {RangeKind::kUnsatisfiable, {}};
    return {RangeKind::kPart, {size - std::min(*suffix, size), size - 1}};
  }
  const auto first = number(from);
  const auto last = to.empty() ? std::optional<std::uint64_t>(UINT64_MAX) : number(to);
  if (!first || !last || *last < *first) return {};
  if (*first >= size) return {RangeKind::kUnsatisfiable, {}};
  return {RangeKind::kPart, {*first, std::min(*last, size - 1)}};
}

bool none_match_hits(std::string_view header, std::string_view etag) {
  if (trimmed(header) == "*") return true;
  while (!header.empty()) {
    const auto comma = header.find(',');
    std::string_view item = trimmed(header.substr(0, comma));
    if (item.starts_with("W/")) item.remove_prefix(2);
    if (item == etag) return true;
    if (comma == std::string_view::npos) break;
    header.remove_prefix(comma + 1);
  }
  return false;
}

Wanted wanted_of(const http::Headers& headers, std::string_view etag,
                 std::string_view last_modified, std::uint64_t size) {
  Wanted out;
  const auto none_match = headers.get("If-None-Match");
  if (none_match && none_match_hits(*none_match, etag)) {
    out.not_modified = true;
    return out;
  }
  const auto range = headers.get("Range");
  if (!range) return out;
  const auto if_range = headers.get("If-Range");
  if (if_range && *if_range != etag && *if_range != last_modified)
    return out;  // it changed: the whole
  out.range = range_of(*range, size);
  return out;
}

}  // namespace cay::api
