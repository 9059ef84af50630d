// Listener: a Server on one address, as the daemon configures it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "http/server.h"

namespace cay::http {

struct ListenerConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: a free one
  ServerOptions options;
  // How errors before the handler (400, 431) and of a handler that threw (500) are written down.
  std::function<Response(const RequestHead&, int status, const Error&)> shape;
  std::function<void(std::string)> log;  // what went wrong inside a handler
};

class Listener {
 public:
  Listener(asio::any_io_executor executor, ListenerConfig config, Handler handler)
      : address_(std::move(config.address)),
        port_(config.port),
        server_(std::move(executor), options_of(config), std::move(handler)) {}

  // Listens and begins to accept. Returns the port. Errors: those of Server::listen.
  Result<std::uint16_t> start() {
    CAY_TRY(const auto endpoint, server_.listen(address_, port_));
    return endpoint.port;
  }
  asio::awaitable<void> shutdown(Millis deadline) { return server_.shutdown(deadline); }

 private:
  static ServerOptions options_of(ListenerConfig& config) {
    config.options.shape = std::move(config.shape);
    config.options.log = std::move(config.log);
    return std::move(config.options);
  }
  std::string address_;
  std::uint16_t port_;
  Server server_;
};

}  // namespace cay::http
