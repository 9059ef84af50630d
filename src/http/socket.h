// http::WebSocket on Beast, for both sides.
#pragma once
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <functional>
#include <memory>

#include "async/event.h"
#include "async/mutex.h"
#include "base/clock.h"
#include "http/tolerant_transport.h"
#include "http/exchange.h"
#include "http/piped_socket.h"

namespace cay::http {

using BeastSocket = beast::websocket::stream<TolerantTransport>;

// The connection itself. Shared: the listener closes it at the daemon's end, while its owner may
// go.
class SocketCore {
 public:
  static constexpr Millis kIdle{60'000};
  enum class Side { kServer, kClient };
  // A peer that sends nothing for `idle` while it is read has gone; it is pinged at half of it.
  SocketCore(BeastSocket stream, Side side, std::size_t max_message, Millis idle = kIdle);

  asio::awaitable<WsMessage> read();
  asio::awaitable<std::optional<std::size_t>> read_some(std::span<char> into);
  Task<void> send(std::string data, bool text);
  // Only a server's frames are plain: a client's are masked.
  bool can_splice() const {
    return side_ == Side::kServer && stream_.next_layer().next_layer().secured() == nullptr;
  }
  Task<void> send_piped(std::string head, KernelPipe payload);
  asio::awaitable<void> close(int code, std::string reason);
  // Called when the daemon ends: sends the close at once, and nothing after it. The reader still
  // gets the bytes that the peer sent before it received the close. A peer's very first message is
  // the exception, because the peer has been informed that its request does not begin.
  asio::awaitable<void> end();
  // Nobody reads any more.
  void left();
  void at_daemons_end(int code) { end_code_ = code; }
  // Breaks the connection at once (the peer sees 1006).
  void abort();
  // Returns which side ended it, and how, in words for a record.
  std::string how_it_ended() const;

 private:
  Task<void> part();
  // Reads more of a message into `data`. False: the socket has ended.
  asio::awaitable<bool> read_more(std::string& data);
  // Reads the rest of a message that is too long, and drops it.
  Task<void> pass_over();
  // A peer can be silent only while there is a reader. Without one its messages and pongs wait.
  void judge_silence(bool reading);
  void note_end(const ErrorCode& error);

  BeastSocket stream_;
  const Side side_;
  const std::size_t max_message_;
  const Millis idle_;
  Mutex writing_;
  bool closed_ = false;    // a close frame was sent or seen, or the connection broke
  bool parting_ = false;   // the close of the daemon's end was sent
  bool by_us_ = false;     // the close was ours
  bool heard_ = false;     // a message was given to who reads
  bool too_long_ = false;  // the message that is being read
  bool left_ = false;
  Event changed_;  // closed_ or left_
  int end_code_ = 1001;
  int close_code_ = 1006;
  std::string close_reason_;
};

// The part that a handler holds. Each call keeps the core alive until it ends.
class Socket final : public WebSocket, public PipedSocket {
 public:
  // `on_close` is called once, when it goes.
  Socket(std::shared_ptr<SocketCore> core, std::function<void()> on_close)
      : core_(std::move(core)), on_close_(std::move(on_close)) {}
  ~Socket() override {
    core_->left();
    if (on_close_) on_close_();
  }

  asio::awaitable<WsMessage> read() override { return read_from(core_); }
  Task<void> send_text(std::string text) override { return send_to(core_, std::move(text), true); }
  Task<void> send_binary(Bytes data) override { return send_to(core_, std::move(data), false); }
  asio::awaitable<void> close(int code, std::string reason) override {
    return close_of(core_, code, std::move(reason));
  }
  void at_daemons_end(int code) override { core_->at_daemons_end(code); }

  asio::awaitable<std::optional<std::size_t>> read_some(std::span<char> into) override {
    return read_some_of(core_, into);
  }
  bool can_splice() const override { return core_->can_splice(); }
  Task<void> send_piped(Bytes head, KernelPipe payload) override {
    return send_piped_to(core_, std::move(head), std::move(payload));
  }

  static asio::awaitable<void> end_of(std::shared_ptr<SocketCore> core);
  static asio::awaitable<void> close_of(std::shared_ptr<SocketCore> core, int code,
                                        std::string reason);

 private:
  static asio::awaitable<WsMessage> read_from(std::shared_ptr<SocketCore> core);
  static Task<void> send_to(std::shared_ptr<SocketCore> core, std::string data, bool text);
  static asio::awaitable<std::optional<std::size_t>> read_some_of(std::shared_ptr<SocketCore> core,
                                                                  std::span<char> into);
  static Task<void> send_piped_to(std::shared_ptr<SocketCore> core, std::string head,
                                  KernelPipe payload);

  std::shared_ptr<SocketCore> core_;
  std::function<void()> on_close_;
};

// Time-outs of ours on a fresh stream: pings keep it alive, a dead peer is noticed in 60 s.
// SocketCore limits messages itself, for Beast would close without a word.
void prepare(BeastSocket& stream);
// The handshakes (RFC 6455, 4): Beast's, compiled once. `protocol`: the subprotocol that is
// accepted, or empty.
asio::awaitable<ErrorCode> accept_websocket(
    BeastSocket& stream, const beast::http::request<beast::http::empty_body>& request,
    std::string protocol);
asio::awaitable<ErrorCode> open_websocket(BeastSocket& stream,
                                          beast::websocket::response_type& answer, std::string host,
                                          std::string target);

}  // namespace cay::http
