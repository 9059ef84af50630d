// Targets and queries from hostile peers: whatever the bytes, a value or a refusal. (Heads, bodies and
// WebSocket frames are Beast's to parse.)
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "http/message.h"
#include "http/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::http;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const auto parts = split_target(in);
  if (!parts) return 0;
  if (const auto segments = split_path(parts->path)) {
    for (const auto& segment : *segments) CAY_ASSERT(segment.find('\0') == std::string::npos);
  }
  static_cast<void>(Query::parse(parts->query));
  return 0;
}
