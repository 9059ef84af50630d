// TolerantTransport: a transport on which writing never fails, it only goes nowhere. Beast gives a
// WebSocket up at the first failed write; but a client that sends `kill` and drops the connection
// while output is under way must still be read to its last frame.
#pragma once
#include <boost/asio/compose.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <utility>

#include "http/channel.h"

namespace cay::http {

class TolerantTransport {
 public:
  using executor_type = Transport::executor_type;
  explicit TolerantTransport(Channel next) : next_(std::move(next)) {}

  executor_type get_executor() { return next_.get_executor(); }
  Channel& next_layer() { return next_; }
  const Channel& next_layer() const { return next_; }
  // A write has failed: the peer has seen nothing since.
  bool broken() const { return broken_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return next_.async_read_some(buffers, std::forward<Token>(token));
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_compose<Token, void(ErrorCode, std::size_t)>(Write<Buffers>{this, buffers}, token, next_.next_layer());
  }

 private:
  template <class Buffers>
  struct Write {
    TolerantTransport* to;
    Buffers buffers;
    bool started = false;

    template <class Self>
    void operator()(Self& self, ErrorCode error = {}, std::size_t written = 0) {
      if (!started) {
        started = true;
        if (to->broken_) {
          asio::post(to->get_executor(), std::move(self));
        } else {
          to->next_.async_write_some(buffers, std::move(self));
        }
        return;
      }
      if (error && error != asio::error::operation_aborted) to->broken_ = true;
      if (to->broken_) {
        error = {};
        written = beast::buffer_bytes(buffers);
      }
      self.complete(error, written);
    }
  };

  Channel next_;
  bool broken_ = false;
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
