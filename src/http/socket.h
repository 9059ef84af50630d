// http::WebSocket on Beast, for both sides.
#pragma once
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <functional>
#include <memory>

#include "async/mutex.h"
#include "http/tolerant_transport.h"
#include "http/exchange.h"

namespace cay::http {

using BeastSocket = beast::websocket::stream<TolerantTransport>;

class Socket final : public WebSocket {
 public:
  // `on_close` is called once, when it goes.
  Socket(BeastSocket stream, std::function<void()> on_close);
  ~Socket() override;

  asio::awaitable<WsMessage> read() override;
  Task<void> send_text(std::string text) override;
  Task<void> send_binary(Bytes data) override;
  asio::awaitable<void> close(int code, std::string reason) override;

  void set_on_close(std::function<void()> on_close) { on_close_ = std::move(on_close); }
  // Breaks the connection at once (the peer sees 1006).
  void abort();

 private:
  Task<void> send(std::string data, bool text);

  BeastSocket stream_;
  Mutex writing_;
  std::function<void()> on_close_;
  bool closed_ = false;  // a close frame was sent or seen, or the connection broke
  int close_code_ = 1006;
  std::string close_reason_;
};

// Limits and time-outs of ours on a fresh stream: pings keep it alive, a dead peer is noticed in 60 s.
void prepare(BeastSocket& stream, std::size_t max_message);

}  // namespace cay::http
