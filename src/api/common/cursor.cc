#include "api/common/cursor.h"

#include <charconv>

namespace cay::api {
namespace {

// FNV-1a, 64 bits: distinguishes queries. Nothing is secret here.
std::uint64_t digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace

std::string cursor_at(std::uint32_t offset, std::string_view query) {
  return "c1-" + std::to_string(offset) + "-" + std::to_string(digest(query));
}

std::optional<std::uint32_t> offset_of_cursor(std::string_view cursor, std::string_view query) {
  if (!cursor.starts_with("c1-")) return std::nullopt;
  std::uint32_t offset = 0;
  const std::string_view rest = cursor.substr(3);
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), offset);
  if (failed != std::errc() || cursor != cursor_at(offset, query)) return std::nullopt;
  return offset;
}

}  // namespace cay::api
