// Server: listens, reads requests strictly, and gives each to one handler. Knows neither routes nor
// keys: src/server does.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "http/exchange.h"

namespace cay::http {

// What the handler of a Server may do beyond what route handlers may.
class ServerExchange : public Exchange {
 public:
  virtual void set_principal(Principal principal) = 0;
  virtual void set_params(std::map<std::string, std::string> params) = 0;
  virtual void set_scheme(std::string scheme) = 0;
  // Added to whatever answer is given.
  virtual void add_header(std::string name, std::string value) = 0;
  virtual int status() const = 0;  // of the answer; 0: none yet; 101: a WebSocket
};

using ServerHandler = std::function<asio::awaitable<void>(std::shared_ptr<ServerExchange>)>;

struct ServerOptions {
  std::size_t max_head = 16 * 1024;     // request line and headers; above: 431
  Millis head_timeout{10'000};          // from a head's first byte to its last; above: 408
  Millis idle_timeout{75'000};          // between requests
  Millis body_timeout{60'000};          // for each piece of a body that a handler waits for
  std::size_t max_connections = 4096;   // above: 503 with Retry-After
  Millis linger{5'000};                 // reading on after an answer that ends the connection
  Millis ping_interval{30'000};         // of a WebSocket on which nothing moves
  Millis ws_close_limit{5'000};         // for the peer's close frame
  // Shapes answers that no handler gave: bad requests, 500. Without it, small JSON.
  std::function<Response(const RequestHead&, int status, const Error&)> shape;
  // What a handler threw. Without it: spdlog, as an error. Never holds a query or a header.
  std::function<void(std::string)> log;
};

struct Endpoint {
  std::string address;  // "127.0.0.1"
  std::uint16_t port = 0;
  bool is_loopback = false;
};

// Lives on one loop. A handler that throws is answered with 500 (or the connection is broken, once
// an answer has begun).
class Server {
 public:
  Server(asio::any_io_executor executor, ServerOptions options, ServerHandler handler);
  ~Server();  // breaks what is open: call shutdown() first
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // `address` is numeric or "localhost"; port 0 takes a free one, and the answer tells which.
  // kAlreadyExists "address_in_use", kPermissionDenied, kInvalidArgument "bad_address".
  Result<Endpoint> listen(std::string address, std::uint16_t port);
  // A UNIX socket, mode 0600. A stale socket file is replaced, a live one is kAlreadyExists.
  Result<void> listen_unix(std::string path);

  // Stops accepting, closes idle connections, closes WebSockets with 1001, lets requests end; what
  // still runs after `deadline` is cancelled. Returns when nothing runs.
  asio::awaitable<void> shutdown(Millis deadline);

  std::size_t connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cay::http
