// Yamux: the server's side of a yamux session (version 0), as a state machine: bytes in, events and
// bytes out, no sockets. Many streams share one connection; each has a window of its own both ways,
// so a stream that is not read holds up no other. Protocol reference, section 5.2.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cay::api::langsmith {

class Yamux {
 public:
  static constexpr std::uint32_t kWindow =
      256 * 1024;  // the protocol's own, for each stream and direction
  static constexpr std::size_t kMostStreams = 256;  // more are reset
  static constexpr std::size_t kMostSkipped =
      256;  // streams that were numbered before others and are opened after them
  static constexpr std::size_t kMostPayload = 64 * 1024;  // of one frame that send() makes
  // The window of a stream that has moved so many bytes, for as long as it lives: the peer then
  // waits for us less often. Only a few have one, for it is held in memory when nobody takes it.
  static constexpr std::uint32_t kWideWindow = 1024 * 1024;
  static constexpr std::uint64_t kWorthWide = 1024 * 1024;
  static constexpr std::size_t kMostWide = 4;

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
  struct Stream {
    std::uint32_t send_window = kWindow;
    std::uint32_t receive_window = kWindow;  // what the peer may send still
    std::uint32_t held = 0;                  // what it has sent, and was not consumed
    std::uint32_t most = kWindow;            // of both together
    std::uint64_t moved = 0;
    bool peer_fin = false;
    bool our_fin = false;
  };
  struct Header {
    std::uint8_t version = 0, type = 0;
    std::uint16_t flags = 0;
    Id stream = 0;
    std::uint32_t length = 0;
  };

  static Header read_header(const char* bytes);
  static void put_header(std::string& to, std::uint8_t type, std::uint16_t flags, Id stream,
                         std::uint32_t length);
  void put_header(std::uint8_t type, std::uint16_t flags, Id stream, std::uint32_t length) {
    put_header(out_, type, flags, stream, length);
  }
  void on_header(const Header& header);
  void on_payload(std::string_view bytes);
  void open(Id id);
  bool is_fresh(Id id) const { return id > highest_ || skipped_.contains(id); }
  void on_flags(const Header& header);
  void on_window(const Header& header);
  void broke();
  void forget_if_over(Id id);
  void forget(std::map<Id, Stream>::iterator at);
  void push(Event::Kind kind, Id stream, std::string_view bytes = {});

  std::string head_;             // of a frame, until it is whole
  std::optional<Header> frame_;  // a data frame whose payload is coming
  std::uint32_t left_ = 0;       // of its payload
  std::map<Id, Stream> streams_;
  std::size_t wide_ = 0;  // of them
  Id highest_ = 0;        // of all that were opened
  std::set<Id> skipped_;  // below it, and not opened yet: the highest kMostSkipped of them
  std::deque<Event> events_;
  std::string out_;
  bool broken_ = false;
};

}  // namespace cay::api::langsmith
