// Channel carries HTTP and WebSocket messages over a transport, with or without TLS.
#pragma once
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <memory>
#include <utility>

#include "http/transport.h"

namespace cay::http {

class Channel {
 public:
  using executor_type = Transport::executor_type;
  using Secured = asio::ssl::stream<Transport&>;

  Channel(Transport plain)
      : transport_(std::make_unique<Transport>(std::move(plain))) {}  // NOLINT: it is one
  // TLS by `context`; the handshake is the caller's to do, by secured().
  Channel(Transport plain, asio::ssl::context& context)
      : transport_(std::make_unique<Transport>(std::move(plain))),
        secured_(std::make_unique<Secured>(*transport_, context)) {}

  executor_type get_executor() { return transport_->get_executor(); }
  Transport& next_layer() { return *transport_; }
  const Transport& next_layer() const { return *transport_; }
  Secured* secured() { return secured_.get(); }  // null: no TLS
  const Secured* secured() const { return secured_.get(); }

  // Writes some of the bytes, from at most the first kMostBuffers of a sequence. Every sequence is
  // passed on in one form. Otherwise each kind of Beast message would compile its own copy of TLS
  // and of the socket, which takes minutes.
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    const auto start = [this](auto handler, const InBuffers& into) {
      start_read(into, erased(std::move(handler)));
    };
    return asio::async_initiate<Token, void(ErrorCode, std::size_t)>(start, token,
                                                                     first_of<InBuffers>(buffers));
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const auto start = [this](auto handler, const OutBuffers& from) {
      start_write(from, erased(std::move(handler)));
    };
    return asio::async_initiate<Token, void(ErrorCode, std::size_t)>(start, token,
                                                                     first_of<OutBuffers>(buffers));
  }

  static constexpr std::size_t kMostBuffers = 16;
  using InBuffers = boost::container::static_vector<asio::mutable_buffer, kMostBuffers>;
  using OutBuffers = boost::container::static_vector<asio::const_buffer, kMostBuffers>;
  // Writes what the socket takes at once, and returns how many bytes. None: it has no room, it is
  // broken, which the next write reports, or there is TLS.
  std::size_t write_now(const OutBuffers& from);

  // Bound to the executor of what waits: that of any_completion_handler itself cannot be posted to,
  // which TLS does.
  using OnBytes = asio::executor_binder<asio::any_completion_handler<void(ErrorCode, std::size_t)>,
                                        executor_type>;

  template <class Handler>
  OnBytes erased(Handler handler) {
    const executor_type executor = asio::get_associated_executor(handler, get_executor());
    return asio::bind_executor(
        executor, asio::any_completion_handler<void(ErrorCode, std::size_t)>(std::move(handler)));
  }

  // Copies the first buffers of `buffers` that are not empty, as many as List holds.
  template <class List, class Buffers>
  static List first_of(const Buffers& buffers) {
    List first;
    for (auto at = asio::buffer_sequence_begin(buffers);
         at != asio::buffer_sequence_end(buffers) && first.size() < kMostBuffers; ++at) {
      const typename List::value_type buffer(*at);
      if (buffer.size() > 0) first.push_back(buffer);
    }
    return first;
  }

 private:
  void start_read(const InBuffers& into, OnBytes on_bytes);
  void start_write(const OutBuffers& from, OnBytes on_bytes);

  std::unique_ptr<Transport> transport_;  // a stable place: TLS refers to it
  std::unique_ptr<Secured> secured_;
};

}  // namespace cay::http
