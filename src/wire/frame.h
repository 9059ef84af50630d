// Frame: the unit on every socket between daemon, launcher and keeper.
//
//   u32 length of what follows | u16 type | u16 flags (0) | u32 channel | payload     little-endian
//
// At most kMaxPayload of payload (of a kStart: kMaxStartPayload). A channel is one request and its
// answers; the daemon picks the number (1…), never reused on a connection; 0 is for HELLO and
// events. Payloads are TLV (wire/tlv.h) but for DATA: u8 stream | u8 flags | u64 offset | bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cay::wire {

inline constexpr std::uint32_t kHeaderBytes = 12;
inline constexpr std::uint32_t kMaxPayload = 256 * 1024;
inline constexpr std::uint32_t kDataChunk = 64 * 1024;  // most bytes in one DATA frame

struct Frame {
  std::uint16_t type = 0;
  std::uint16_t flags = 0;
  std::uint32_t channel = 0;
  std::string payload;
};

std::string encode_frame(const Frame& frame);

// Feed bytes, take frames. bad() for ever once a length is out of range.
class FrameReader {
 public:
  explicit FrameReader(std::uint32_t most_payload = kMaxPayload) : most_payload_(most_payload) {}
  void feed(std::string_view bytes);
  std::optional<Frame> next();
  // From the next frame on.
  void allow(std::uint32_t most_payload) { most_payload_ = most_payload; }
  bool bad() const { return bad_; }
  std::size_t buffered() const { return buffer_.size() - begin_; }

 private:
  std::uint32_t most_payload_;
  std::string buffer_;
  std::size_t begin_ = 0;
  bool bad_ = false;
};

struct Data {
  std::uint8_t stream = 0;  // of a command: 1 stdout, 2 stderr; of a file: 0
  bool after_end = false;   // flag bit 0
  std::uint64_t offset = 0;
  std::string_view bytes;
};
std::string encode_data(const Data& data);
std::optional<Data> decode_data(std::string_view payload);

}  // namespace cay::wire
