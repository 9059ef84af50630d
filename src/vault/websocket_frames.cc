#include "vault/websocket_frames.h"

#include <algorithm>
#include <cstddef>

namespace cay::vault {
namespace {

constexpr unsigned kFinal = 0x80, kReserved = 0x70, kOpcode = 0x0f, kMasked = 0x80, kLength = 0x7f;
constexpr unsigned kMore = 0, kBinary = 2, kControls = 8, kPong = 10;
constexpr unsigned kTwoBytes = 126, kEightBytes = 127;

}  // namespace

void WebsocketFrames::read(std::string_view piece, std::string& text, std::string& asides) {
  while (!piece.empty()) {
    if (broken_) {
      text += piece;
      return;
    }
    if (!in_frame_) {
      head_ += piece.front();
      piece.remove_prefix(1);
      ++came_;
      read_head();
      if (broken_) text += head_;
      if (in_frame_ && left_ == 0) end_frame();
      continue;
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, piece.size()));
    (is_control_ ? asides : text) += piece.substr(0, size);
    piece.remove_prefix(size);
    came_ += size;
    left_ -= size;
    if (left_ == 0) end_frame();
  }
}

void WebsocketFrames::read_head() {
  const auto byte = [this](std::size_t at) {
    return static_cast<unsigned>(static_cast<unsigned char>(head_[at]));
  };
  const unsigned opcode = byte(0) & kOpcode;
  is_control_ = opcode >= kControls;
  is_last_ = (byte(0) & kFinal) != 0;
  const bool known = opcode <= kBinary || (is_control_ && opcode <= kPong);
  const bool in_turn = is_control_ ? is_last_ : (opcode == kMore) == in_message_;
  broken_ = (byte(0) & kReserved) != 0 || !known || !in_turn;
  if (broken_ || head_.size() < 2) return;
  const unsigned length = byte(1) & kLength;
  broken_ = (byte(1) & kMasked) != 0 || (is_control_ && length >= kTwoBytes);
  const std::size_t more = length == kTwoBytes ? 2 : length == kEightBytes ? 8 : 0;
  if (broken_ || head_.size() < 2 + more) return;
  left_ = more == 0 ? length : 0;
  for (std::size_t at = 0; at < more; ++at) left_ = left_ << 8 | byte(2 + at);
  // In no more bytes than it needs.
  broken_ =
      (more == 2 && left_ < kTwoBytes) || (more == 8 && (left_ <= 0xffff || left_ >> 63 != 0));
  in_frame_ = !broken_;
}

void WebsocketFrames::end_frame() {
  head_.clear();
  in_frame_ = false;
  if (!is_control_) in_message_ = !is_last_;
  if (!in_message_) last_end_ = came_;
}

}  // namespace cay::vault
