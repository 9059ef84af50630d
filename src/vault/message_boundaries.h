// MessageBoundaries: finds where one message of a response ends and another begins.
//
// A message is an event, a line of JSON or a message of a WebSocket. In a pause the bytes before a
// boundary may go to the sandbox, since a secret does not stand across two messages.
#pragma once
#include <cstdint>
#include <string_view>

#include "http/upstream.h"
#include "vault/websocket_frames.h"

namespace cay::vault {

class MessageBoundaries {
 public:
  enum class Kind {
    kNone,      // only the end of the response
    kEvents,    // blank lines: text/event-stream
    kLines,     // JSON by lines
    kMessages,  // of a WebSocket
  };

  explicit MessageBoundaries(Kind kind = Kind::kNone) : kind_(kind) {}

  // Reads the next piece. Appends its content to `text`, without the heads of frames.
  // Appends the content of control frames to `asides`: they may stand within a message.
  void read(std::string_view piece, std::string& text, std::string& asides);
  Kind kind() const { return kind_; }
  // How many bytes were read, and how many of them stand before the last boundary.
  std::uint64_t received() const { return received_; }
  std::uint64_t last() const { return last_; }

 private:
  void find_blank_lines(std::string_view piece);

  Kind kind_;
  std::uint64_t received_ = 0, last_ = 0;
  bool line_is_empty_ = true, after_return_ = false;
  WebsocketFrames frames_;
};

// Returns the kind that the head of a response declares. If the head is wrong, a secret may be cut
// in two, and its first part released.
MessageBoundaries::Kind boundaries_of(const http::UpstreamAnswer& answer);

}  // namespace cay::vault
