#include "api/common/answer_size.h"

#include "codec/utf8.h"

namespace cay::api {
namespace {

std::uint64_t escaped(std::string_view bytes, std::uint64_t of_high_byte) {
  std::uint64_t size = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      size += of_high_byte;
    } else if (byte == '"' || byte == '\\' || byte == '\n' || byte == '\r' || byte == '\t' ||
               byte == '\b' || byte == '\f') {
      size += 2;
    } else {
      size += byte < 0x20 ? 6 : 1;
    }
  }
  return size;
}

}  // namespace

std::uint64_t text_size(std::string_view bytes) {
  constexpr std::uint64_t kReplaced = 3;  // U+FFFD
  return escaped(bytes, codec::is_utf8(bytes) ? 1 : kReplaced);
}

std::uint64_t bytes_size(std::string_view bytes) {
  if (codec::is_utf8(bytes)) return escaped(bytes, 1);
  return (bytes.size() + 2) / 3 * 4;
}

}  // namespace cay::api
