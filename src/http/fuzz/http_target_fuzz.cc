// Targets and queries from hostile peers: whatever the bytes, a value or a refusal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/assert.h"
#include "http/message.h"
#include "http/target.h"
#include "http/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::http;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  for (const auto member : split_list(in))
    CAY_ASSERT(!member.empty() && list_has(in, member) && cay::trimmed(member) == member);
  if (is_token(in)) CAY_ASSERT(in.find_first_of(" \t\r\n:,") == std::string_view::npos);
  const auto parts = split_target(in);
  if (!parts) return 0;
  CAY_ASSERT(parts->path.starts_with('/'));
  if (const auto segments = split_path(parts->path)) {
    for (const auto& segment : *segments) CAY_ASSERT(segment.find('\0') == std::string::npos);
  }
  if (const auto query = Query::parse(parts->query)) {
    for (const auto& [name, value] : query->items()) {
      CAY_ASSERT(query->get(name) && !query->all(name).empty());
      CAY_ASSERT(name.find('\0') == std::string::npos && value.find('\0') == std::string::npos);
    }
  }
  return 0;
}
