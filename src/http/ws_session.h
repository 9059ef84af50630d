// WsSession: a WebSocket over a Stream, after the handshake; either role.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/scope.h"
#include "base/clock.h"
#include "http/exchange.h"
#include "http/stream.h"
#include "http/ws_codec.h"

namespace cay::http {

struct WsOptions {
  WsRole role = WsRole::kServer;
  std::size_t max_message = 1u << 20;
  Millis ping_interval{30'000};  // of silence before we ping
  Millis dead_after{180'000};    // nothing acknowledged by the peer's kernel for so long: gone
  Millis close_limit{5'000};     // for the other side's close frame
};

// A reader fills a bounded inbox and a writer empties the queue of frames: so pings are answered
// while the owner is busy, and a sender that is cancelled does not cut a frame in two. What was read
// before the connection broke is delivered before the end is.
class WsSession : public std::enable_shared_from_this<WsSession> {
 public:
  WsSession(std::shared_ptr<Stream> stream, WsOptions options);

  // Runs the connection to its end, then closes the stream. Called once.
  asio::awaitable<void> run();

  asio::awaitable<WsMessage> read();
  Task<void> send(WsOpcode opcode, std::string payload);
  asio::awaitable<void> close(int code, std::string reason);
  // Sends a close frame and does not wait; the stream is closed when the answer or the limit comes.
  void start_close(int code, std::string_view reason);
  // The owner reads no more.
  void abandon();
  // When run() has ended.
  asio::awaitable<void> wait_done();

 private:
  struct Outgoing {
    std::string frame;
    std::uint64_t number = 0;
  };
  asio::awaitable<void> read_all();
  asio::awaitable<void> write_all();
  asio::awaitable<void> keep_alive();
  asio::awaitable<void> limit_close();
  asio::awaitable<void> wait_for_space();
  asio::awaitable<void> flush();
  bool handle(WsEvent event);  // false: the end
  std::uint64_t enqueue(WsOpcode opcode, std::string_view payload);
  void finish(int code, std::string reason);

  std::shared_ptr<Stream> stream_;
  WsOptions options_;
  WsParser parser_;

  std::deque<WsMessage> inbox_;
  std::size_t inbox_bytes_ = 0;
  std::optional<WsMessage> end_;
  bool discard_ = false;
  Event inbox_changed_;

  std::deque<Outgoing> outbox_;
  std::optional<std::string> pong_;  // the newest unanswered ping's payload
  std::uint64_t queued_ = 0;
  std::uint64_t written_ = 0;
  bool broken_ = false;         // writing failed
  bool close_sent_ = false;
  Event outbox_changed_;
  Event closing_;
  Event done_;
  std::uint64_t activity_ = 0;  // counts what came and went
  Scope helpers_;
};

// The owner's handle. Dropping it without close() closes with 1011.
std::unique_ptr<WebSocket> make_websocket(std::shared_ptr<WsSession> session);

}  // namespace cay::http
