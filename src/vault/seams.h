// Seams: the places in an answer that no secret stands across in any of its usual forms, since what is behind one is
// another event, line or message. What a server said up to one may go on, though it says nothing more.
#pragma once
#include <cstdint>
#include <string_view>

#include "http/upstream.h"
#include "vault/websocket_frames.h"

namespace cay::vault {

class Seams {
 public:
  enum class Kind {
    kNone,      // its end alone
    kEvents,    // blank lines: text/event-stream
    kLines,     // JSON by lines
    kMessages,  // of a WebSocket
  };

  explicit Seams(Kind kind = Kind::kNone) : kind_(kind) {}

  // What follows what came. Adds what it says to `text`, without the heads of frames; `asides`: what stands in between
  // and is no part of it.
  void read(std::string_view piece, std::string& text, std::string& asides);
  Kind kind() const { return kind_; }
  // How many bytes came, and how many of these stand before the last seam.
  std::uint64_t came() const { return came_; }
  std::uint64_t last() const { return last_; }

 private:
  void find_blank_lines(std::string_view piece);

  Kind kind_;
  std::uint64_t came_ = 0, last_ = 0;
  bool line_is_empty_ = true, after_return_ = false;
  WebsocketFrames frames_;
};

// By what the head of an answer says of it; a server that says it wrongly may have a secret cut in two.
Seams::Kind seams_of(const http::UpstreamAnswer& answer);

}  // namespace cay::vault
