// Tests encode and decode frames of yamux with these functions, independently of the code under
// test.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cay::api::testing {

struct Frame {
  int type = 0;
  int flags = 0;
  std::uint32_t stream = 0;
  std::uint32_t length = 0;
  std::string payload;
  bool operator==(const Frame&) const = default;
};

inline std::string frame(int type, int flags, std::uint32_t stream, std::uint32_t length,
                         std::string_view payload = {}) {
  std::string out{'\0', static_cast<char>(type), static_cast<char>(flags >> 8),
                  static_cast<char>(flags & 0xff)};
  for (const std::uint32_t word : {stream, length}) {
    for (int shift = 24; shift >= 0; shift -= 8)
      out.push_back(static_cast<char>((word >> shift) & 0xff));
  }
  return out + std::string(payload);
}

inline std::vector<Frame> frames_of(std::string_view bytes) {
  std::vector<Frame> out;
  const auto number = [&bytes](std::size_t at, int count) {
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i)
      value = value << 8 | static_cast<std::uint8_t>(bytes[at + static_cast<std::size_t>(i)]);
    return value;
  };
  while (bytes.size() >= 12) {
    Frame one{static_cast<int>(number(1, 1)), static_cast<int>(number(2, 2)), number(4, 4),
              number(8, 4), ""};
    bytes.remove_prefix(12);
    if (one.type == 0) {
      one.payload = bytes.substr(0, one.length);
      bytes.remove_prefix(one.payload.size());
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace cay::api::testing
