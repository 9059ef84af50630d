#include "wire/frame.h"

namespace cay::wire {
namespace {

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

template <class T>
T get(std::string_view in, std::size_t at) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>((value << 8) | static_cast<unsigned char>(in[at + i]));
  }
  return value;
}

constexpr std::size_t kDataHead = 10;
constexpr std::uint32_t kFrameHead = 8;  // of `length`: type, flags, channel

}  // namespace

std::string encode_frame(const Frame& frame) {
  std::string out;
  out.reserve(kHeaderBytes + frame.payload.size());
  put<std::uint32_t>(out, kFrameHead + static_cast<std::uint32_t>(frame.payload.size()));
  put<std::uint16_t>(out, frame.type);
  put<std::uint16_t>(out, frame.flags);
  put<std::uint32_t>(out, frame.channel);
  out += frame.payload;
  return out;
}

void FrameReader::feed(std::string_view bytes) {
  if (begin_ > 0 && begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  } else if (begin_ > 64 * 1024) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += bytes;
}

std::optional<Frame> FrameReader::next() {
  const std::string_view in = std::string_view(buffer_).substr(begin_);
  if (bad_ || in.size() < 4) return std::nullopt;
  const auto length = get<std::uint32_t>(in, 0);
  if (length < kFrameHead || length > kFrameHead + most_payload_) {
    bad_ = true;
    return std::nullopt;
  }
  if (in.size() < 4 + std::size_t{length}) return std::nullopt;
  Frame frame;
  frame.type = get<std::uint16_t>(in, 4);
  frame.flags = get<std::uint16_t>(in, 6);
  frame.channel = get<std::uint32_t>(in, 8);
  frame.payload.assign(in.substr(kHeaderBytes, length - kFrameHead));
  begin_ += 4 + std::size_t{length};
  return frame;
}

std::string encode_data(const Data& data) {
  std::string out;
  out.reserve(kDataHead + data.bytes.size());
  put<std::uint8_t>(out, data.stream);
  put<std::uint8_t>(out, data.after_end ? 1 : 0);
  put<std::uint64_t>(out, data.offset);
  out += data.bytes;
  return out;
}

std::optional<Data> decode_data(std::string_view payload) {
  if (payload.size() < kDataHead) return std::nullopt;
  Data data;
  data.stream = get<std::uint8_t>(payload, 0);
  data.after_end = (get<std::uint8_t>(payload, 1) & 1) != 0;
  data.offset = get<std::uint64_t>(payload, 2);
  data.bytes = payload.substr(kDataHead);
  return data;
}

}  // namespace cay::wire
