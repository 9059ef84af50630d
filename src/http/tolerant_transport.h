// TolerantTransport: a transport whose writes never fail, and only go nowhere. Beast gives a
// WebSocket up at the first failed write. But a client that sends `kill` and drops the connection
// while output is under way must still be read to its last frame.
//
// A frame may also be written past Beast, whose pings, pongs and closes then come before or behind
// it. A frame of Beast's is one write here if it is no longer than a control frame, and is written
// whole.
#pragma once
#include <boost/asio/async_result.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <string>
#include <utility>

#include "async/kernel_pipe.h"
#include "http/channel.h"

namespace cay::http {

class TolerantTransport {
 public:
  using executor_type = Transport::executor_type;
  explicit TolerantTransport(Channel next)
      : next_(std::move(next)),
        past_over_(next_.get_executor(), kNever),
        write_over_(next_.get_executor(), kNever) {}

  executor_type get_executor() { return next_.get_executor(); }
  Channel& next_layer() { return next_; }
  const Channel& next_layer() const { return next_; }
  // A write has failed, or was the last: the peer has seen nothing since.
  bool broken() const { return broken_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return next_.async_read_some(buffers, std::forward<Token>(token));
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const auto start = [this](auto handler, const Channel::OutBuffers& from) {
      start_write(from, next_.erased(std::move(handler)));
    };
    return asio::async_initiate<Token, void(ErrorCode, std::size_t)>(
        start, token, Channel::first_of<Channel::OutBuffers>(buffers));
  }

  // Holds Beast's writes: waits until Beast writes nothing, and keeps its later writes waiting
  // until the guard is destroyed. For one caller at a time.
  class Past {
   public:
    explicit Past(TolerantTransport& to) : to_(&to) { to.past_ = true; }
    Past(const Past&) = delete;
    Past& operator=(const Past&) = delete;
    ~Past() {
      to_->past_ = false;
      to_->past_over_.cancel();
    }

   private:
    TolerantTransport* to_;
  };
  asio::awaitable<void> until_written();
  // Writes a frame: `head`, and the pipe's bytes. For a plain connection, under a Past. If the
  // caller is cancelled before the frame's end, nothing more is sent on this connection.
  asio::awaitable<void> write_past(std::string head, KernelPipe payload);
  // The same for a whole frame on any connection, after which nothing is sent: what Beast writes
  // goes nowhere.
  asio::awaitable<void> write_last(std::string frame);

 private:
  static constexpr auto kNever = asio::steady_timer::time_point::max();
  static constexpr std::size_t kWhole =
      256;  // bytes, at most, of a write that is written to its end: more than a control frame

  struct Write;
  void start_write(const Channel::OutBuffers& from, Channel::OnBytes on_bytes);

  Channel next_;
  bool broken_ = false;
  bool writing_ = false;                       // Beast's bytes are on their way
  bool past_ = false;                          // ours are
  asio::steady_timer past_over_, write_over_;  // waited on, and cancelled
};

template <class Handler>
void async_teardown(beast::role_type role, TolerantTransport& stream, Handler&& handler) {
  using beast::websocket::async_teardown;
  async_teardown(role, stream.next_layer().next_layer(), std::forward<Handler>(handler));
}

inline void teardown(beast::role_type role, TolerantTransport& stream, ErrorCode& error) {
  using beast::websocket::teardown;
  teardown(role, stream.next_layer().next_layer(), error);
}

}  // namespace cay::http
