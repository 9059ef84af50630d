// Connection: one client of a Server; request after request until one side has enough.
#pragma once
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "async/scope.h"
#include "http/head_parser.h"
#include "http/live_exchange.h"
#include "http/server.h"
#include "http/stream.h"

namespace cay::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Stream> stream, std::string peer, std::shared_ptr<const ServerOptions> options,
             std::shared_ptr<const ServerHandler> handler);

  asio::awaitable<void> run();
  // Ends after the request that runs, or now if none does.
  void start_shutdown();
  // Cancels whatever runs.
  void cancel();
  asio::cancellation_slot slot() { return signal_.slot(); }

 private:
  enum class After { kNext, kLinger, kAbort, kClosed };

  asio::awaitable<After> serve_next();
  asio::awaitable<After> handle(ParsedRequest request);
  asio::awaitable<After> finish(std::shared_ptr<LiveExchange> exchange);
  asio::awaitable<void> drain(std::shared_ptr<LiveExchange> exchange);
  // Reads until a whole head is buffered. false: `refusal_` tells why, or the peer left.
  asio::awaitable<bool> read_head();
  std::size_t scan_head();
  asio::awaitable<After> refuse(BadHead bad);
  void report(const RequestHead& head, const std::exception_ptr& failure);
  void arm(Millis limit);
  void disarm();

  std::shared_ptr<Stream> stream_;
  std::string peer_;
  std::shared_ptr<const ServerOptions> options_;
  std::shared_ptr<const ServerHandler> handler_;
  Scope scope_;  // WebSockets
  asio::cancellation_signal signal_;
  asio::steady_timer timer_;
  std::uint64_t armed_ = 0;
  bool timed_out_ = false;
  bool idle_ = false;     // between requests: may be closed without a word
  bool first_ = true;
  bool closing_ = false;
  std::size_t head_size_ = 0;
  std::optional<BadHead> refusal_;
  std::shared_ptr<LiveExchange> current_;
};

}  // namespace cay::http
