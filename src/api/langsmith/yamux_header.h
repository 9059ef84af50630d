// YamuxHeader: the 12 bytes that begin each yamux frame (hashicorp/yamux spec.md, version 0).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace cay::api::langsmith {

struct YamuxHeader {
  static constexpr std::size_t kBytes = 12;
  static constexpr std::uint32_t kProtocolError = 1;  // the reason of a go-away, as its length
  enum Type : std::uint8_t { kData = 0, kWindowUpdate = 1, kPing = 2, kGoAway = 3 };
  enum Flag : std::uint16_t { kSyn = 1, kAck = 2, kFin = 4, kRst = 8 };

  std::uint8_t version = 0, type = 0;
  std::uint16_t flags = 0;
  std::uint32_t stream = 0;
  std::uint32_t length = 0;
};

// Decodes kBytes bytes. The caller checks the version and the type.
YamuxHeader read_yamux_header(const char* bytes);
// Appends the encoding of `header` to `to`.
void append_yamux_header(std::string& to, const YamuxHeader& header);

}  // namespace cay::api::langsmith
