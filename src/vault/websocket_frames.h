// WebsocketFrames: decodes a server's WebSocket frames (RFC 6455, 5.2) and finds message ends.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cay::vault {

class WebsocketFrames {
 public:
  // Appends the payload of messages to `text` and of control frames to `asides`. Control frames may
  // stand between two frames of a message. After bytes that are no frame of a server, everything
  // counts as text.
  void read(std::string_view piece, std::string& text, std::string& asides);
  // How many bytes came up to the end of the last frame that no message goes on behind.
  std::uint64_t last_end() const { return last_end_; }

 private:
  void read_head();
  void end_frame();

  std::string head_;  // of a frame, until it is whole
  std::uint64_t came_ = 0, left_ = 0, last_end_ = 0;
  bool in_frame_ = false, is_control_ = false, is_last_ = false;
  bool in_message_ = false;  // more frames of it follow
  bool broken_ = false;
};

}  // namespace cay::vault
