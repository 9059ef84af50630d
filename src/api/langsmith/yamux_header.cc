#include "api/langsmith/yamux_header.h"

namespace cay::api::langsmith {
namespace {

std::uint32_t big_endian(const char* bytes, int count) {
  std::uint32_t out = 0;
  for (int i = 0; i < count; ++i) out = (out << 8) | static_cast<std::uint8_t>(bytes[i]);
  return out;
}

}  // namespace

YamuxHeader read_yamux_header(const char* bytes) {
  YamuxHeader header;
  header.version = static_cast<std::uint8_t>(bytes[0]);
  header.type = static_cast<std::uint8_t>(bytes[1]);
  header.flags = static_cast<std::uint16_t>(big_endian(bytes + 2, 2));
  header.stream = big_endian(bytes + 4, 4);
  header.length = big_endian(bytes + 8, 4);
  return header;
}

void append_yamux_header(std::string& to, const YamuxHeader& header) {
  const auto put = [&to](std::uint32_t value, int count) {
    for (int shift = 8 * (count - 1); shift >= 0; shift -= 8)
      to.push_back(static_cast<char>((value >> shift) & 0xff));
  };
  put(header.version, 1);
  put(header.type, 1);
  put(header.flags, 2);
  put(header.stream, 4);
  put(header.length, 4);
}

}  // namespace cay::api::langsmith
