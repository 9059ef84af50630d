#include "api/gateway/socket_frames.h"

#include <algorithm>

namespace cay::api {
namespace {

constexpr std::size_t kShortHead = 2;
constexpr std::size_t kMaskSize = 4;
constexpr std::uint8_t kOpcode = 0x0F, kClose = 8, kMask = 0x80, kLength = 0x7F, kLength16 = 126,
                       kLength64 = 127;
constexpr std::uint8_t kFinalClose = 0x80 | kClose;
constexpr std::size_t kMostReason = 123;  // a control frame's payload is at most 125

std::uint8_t byte_of(std::string_view head, std::size_t at) {
  return static_cast<std::uint8_t>(head[at]);
}

std::size_t length_size(std::string_view head) {
  const std::uint8_t length = byte_of(head, 1) & kLength;
  return length == kLength16 ? 2 : length == kLength64 ? 8 : 0;
}

std::size_t head_size(std::string_view head) {
  if (head.size() < kShortHead) return kShortHead;
  return kShortHead + length_size(head) + ((byte_of(head, 1) & kMask) != 0 ? kMaskSize : 0);
}

std::uint64_t payload_of(std::string_view head) {
  const std::size_t bytes = length_size(head);
  if (bytes == 0) return byte_of(head, 1) & kLength;
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < bytes; ++i) out = out << 8 | byte_of(head, kShortHead + i);
  return out;
}

}  // namespace

bool SocketFrames::step(std::string_view& bytes) {
  if (left_ > 0) {
    const auto gone = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    left_ -= gone;
    bytes.remove_prefix(gone);
    return left_ == 0;
  }
  while (!bytes.empty()) {
    head_ += bytes.front();
    bytes.remove_prefix(1);
    if (head_.size() < head_size(head_)) continue;
    closed_ = closed_ || (byte_of(head_, 0) & kOpcode) == kClose;
    left_ = payload_of(head_);
    head_.clear();
    return left_ == 0;
  }
  return false;
}

void SocketFrames::follow(std::string_view bytes) {
  while (!bytes.empty()) step(bytes);
}

void SocketFrames::skip(std::uint64_t payload) { left_ -= payload; }

std::size_t SocketFrames::rest_of_frame(std::string_view bytes) const {
  if (between()) return 0;
  SocketFrames ahead = *this;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    if (ahead.step(rest)) break;
  }
  return bytes.size() - rest.size();
}

std::string close_frame(int code, std::string_view reason) {
  reason = reason.substr(0, kMostReason);
  std::string out;
  out += static_cast<char>(kFinalClose);
  out += static_cast<char>(2 + reason.size());
  out += static_cast<char>(code >> 8);
  out += static_cast<char>(code);
  out += reason;
  return out;
}

}  // namespace cay::api
