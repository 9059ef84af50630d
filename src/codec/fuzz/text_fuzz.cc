// Base64, times and UTF-8: what is read is what was written, and nothing else is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "codec/base64.h"
#include "codec/time.h"
#include "codec/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::codec;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const std::string clean = sanitised_utf8(in);
  CAY_ASSERT(is_utf8(clean));
  CAY_ASSERT(!is_utf8(in) || clean == in);
  Utf8Sanitiser sanitiser;
  std::string pieces;
  const std::size_t cut = size == 0 ? 0 : data[size - 1] * size / 256;
  sanitiser.feed(in.substr(0, cut), pieces);
  sanitiser.feed(in.substr(cut), pieces);
  sanitiser.finish(pieces);
  CAY_ASSERT(pieces == clean);
  const std::size_t at = cut % (clean.size() + 1);
  CAY_ASSERT(is_utf8(std::string_view(clean).substr(0, previous_boundary(clean, at))));
  CAY_ASSERT(is_utf8(std::string_view(clean).substr(next_boundary(clean, at))));
  if (const auto bytes = from_base64(in)) CAY_ASSERT(base64(*bytes) == in);
  CAY_ASSERT(from_base64(base64(in)) == std::string(in));
  if (const auto time = from_rfc3339(in)) {
    const auto again = from_rfc3339(rfc3339(*time));
    CAY_ASSERT(again && *again == *time);
    CAY_ASSERT(http_date(*time / 1000).size() == 29);
  }
  return 0;
}
