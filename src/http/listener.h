// Listener: accepts connections and gives every request to one handler.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/clock.h"
#include "http/connection_shares.h"
#include "http/exchange.h"

namespace cay::http {

class ServerTls;

struct ListenerConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;          // 0: a free one
  std::shared_ptr<ServerTls> tls;  // null: plain HTTP
  // When they are so many, the oldest on which nobody was let in (Exchange::let_in) is closed for a
  // new one. If there is none, the new one is answered 503 and closed.
  std::size_t max_connections = 4096;
  ShareLimits shares;                  // of those connections, for each that is let in; more: 429
  std::uint32_t max_head = 16 * 1024;  // bytes; more: 431
  Millis head_limit{10'000};  // from a request's first byte to its head's end; for the first byte
                              // of the first one, too
  Millis idle_limit{75'000};  // between requests
  Millis body_limit{60'000};  // for each piece of a body to arrive or leave
  Millis socket_idle{
      60'000};  // a WebSocket's peer that sends nothing, no pong either, while we read: gone
  Millis linger{5'000};                // reading on after an answer that ends the connection
  std::size_t max_drain = 256 * 1024;  // of a body that the handler did not read; more: close
  // How errors before the handler (400, 431) and of a handler that threw (500) are written down.
  std::function<Response(const RequestHead&, int status, const Error&)> shape;
  std::function<void(std::string)> log;  // what went wrong inside a handler
  // Each request that is refused before the handler, with as much of its head as is known: 400,
  // 408, 417, 431, 501, 503.
  std::function<void(const RequestHead&, int status, const Error&)> refused;
};

// Whether Listener::start would find the port free; with its words if not. For who has more to
// begin before.
Result<void> check_can_listen(const std::string& address, std::uint16_t port);

class Listener {
 public:
  Listener(asio::any_io_executor executor, ListenerConfig config, Handler handler);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Listens and begins to accept. Returns the port. kUnavailable (address_in_use), kInvalidArgument
  // (bad_address).
  Result<std::uint16_t> start();
  // No new connections or requests; WebSockets are closed with 1001; answers under way may end
  // until the deadline, then everything is cut. Returns when all handlers are gone.
  asio::awaitable<void> shutdown(Millis deadline);
  std::size_t connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cay::http
