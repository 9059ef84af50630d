// Yamux: the server's side of a yamux session (version 0), as a state machine: bytes in, events and
// bytes out, no sockets. Many streams share one connection; each has a window of its own both ways,
// so a stream that is not read holds up no other. Protocol reference, section 5.2.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "api/langsmith/yamux_header.h"
#include "api/langsmith/yamux_ids.h"
#include "api/langsmith/yamux_streams.h"

namespace cay::api::langsmith {

class Yamux {
 public:
  static constexpr std::size_t kMostPayload = 64 * 1024;  // of one frame that send() makes

  using Id = std::uint32_t;
  struct Event {
    enum class Kind {
      kOpened,  // by the peer
      kData,    // `bytes`, which stay where they were fed; give the window back by consumed()
      kFin,     // the peer sends no more on it
      kReset,   // the peer gave it up: it is forgotten here
      kWindow,  // more may be sent on it
      kGoAway,  // the peer ends the session
    } kind;
    Id stream = 0;
    std::string_view bytes;
  };

  // False once the peer has broken the protocol: a go-away is then in out(), and nothing more is
  // taken. The bytes must stay until the events are taken.
  bool feed(std::string_view bytes);
  bool broken() const { return broken_; }
  std::optional<Event> next();

  // The bytes for the peer; the caller takes them.
  std::string& out() { return out_; }
  const std::string& out() const { return out_; }

  // On a stream that was opened and is not over; on any other they do nothing.
  std::uint32_t sendable(Id stream) const;
  void send(Id stream, std::string_view bytes);  // at most sendable()
  // The head of a frame whose `bytes` (at most sendable()) the caller sends himself: right behind
  // it, and behind all of out().
  std::string head_of_data(Id stream, std::size_t bytes);
  void fin(Id stream);  // after all that was sent
  void reset(Id stream);
  void consumed(Id stream, std::size_t bytes);  // of its kData events

  std::size_t streams() const { return streams_.size(); }

 private:
  void queue(YamuxHeader::Type type, std::uint16_t flags, Id stream, std::uint32_t length);
  void on_header(const YamuxHeader& header);
  void on_payload(std::string_view bytes);
  void open(Id id);
  void on_flags(const YamuxHeader& header);
  void on_window(const YamuxHeader& header);
  void broke();

  std::string head_;                  // of a frame, until it is whole
  std::optional<YamuxHeader> frame_;  // a data frame whose payload is coming
  std::uint32_t left_ = 0;            // of its payload
  YamuxIds ids_;
  YamuxStreams streams_;
  std::deque<Event> events_;
  std::string out_;
  bool broken_ = false;
};

}  // namespace cay::api::langsmith
