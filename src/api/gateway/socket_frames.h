// SocketFrames finds the frame boundaries in the bytes of one side of a WebSocket (RFC 6455,
// section 5.2). It reads the heads of frames only. The payload is between the two peers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cay::api {

class SocketFrames {
 public:
  // The next bytes, of which the first may be the middle of a frame.
  void follow(std::string_view bytes);
  // So many of the payload were passed on unseen; at most left().
  void skip(std::uint64_t payload);
  // How many of these bytes belong to the frame that is under way; all of them: it may go on.
  std::size_t rest_of_frame(std::string_view bytes) const;

  bool between() const { return left_ == 0 && head_.empty(); }
  std::uint64_t left() const { return left_; }  // of the payload of the frame under way
  bool closed() const { return closed_; }       // a close frame has begun: nothing may follow it

 private:
  bool step(std::string_view& bytes);  // to the end of a head or of a payload, if it is among them

  std::string head_;  // of a frame, so far as it came
  std::uint64_t left_ = 0;
  bool closed_ = false;
};

// A close frame of a server's: no mask.
std::string close_frame(int code, std::string_view reason);

}  // namespace cay::api
