// Channel: what HTTP and WebSocket messages travel over: a transport, with TLS on it or without.
#pragma once
#include <boost/asio/async_result.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <utility>

#include "http/transport.h"

namespace cay::http {

class Channel {
 public:
  using executor_type = Transport::executor_type;
  using Secured = asio::ssl::stream<Transport&>;

  Channel(Transport plain) : transport_(std::make_unique<Transport>(std::move(plain))) {}  // NOLINT: it is one
  // TLS by `context`; the handshake is the caller's to do, by secured().
  Channel(Transport plain, asio::ssl::context& context)
      : transport_(std::make_unique<Transport>(std::move(plain))), secured_(std::make_unique<Secured>(*transport_, context)) {}

  executor_type get_executor() { return transport_->get_executor(); }
  Transport& next_layer() { return *transport_; }
  const Transport& next_layer() const { return *transport_; }
  Secured* secured() { return secured_.get(); }  // null: no TLS
  const Secured* secured() const { return secured_.get(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    const auto start = [this](auto handler, const Buffers& into) {
      if (secured_) {
        secured_->async_read_some(into, std::move(handler));
      } else {
        transport_->async_read_some(into, std::move(handler));
      }
    };
    return asio::async_initiate<Token, void(ErrorCode, std::size_t)>(start, token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const auto start = [this](auto handler, const Buffers& from) {
      if (secured_) {
        secured_->async_write_some(from, std::move(handler));
      } else {
        transport_->async_write_some(from, std::move(handler));
      }
    };
    return asio::async_initiate<Token, void(ErrorCode, std::size_t)>(start, token, buffers);
  }

 private:
  std::unique_ptr<Transport> transport_;  // a stable place: TLS refers to it
  std::unique_ptr<Secured> secured_;
};

}  // namespace cay::http
