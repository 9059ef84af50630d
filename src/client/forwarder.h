// Forwarder: a local port, every connection to which leads to a port inside a sandbox. Each has a
// tunnel of its own, so a daemon that restarts breaks what is open and serves what comes next.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "async/event.h"
#include "async/scope.h"
#include "cay/types.h"
#include "client/connection.h"

namespace cay::client {

class Forwarder {
 public:
  // `connection` outlives it. kAlreadyExists "port_in_use", kPermissionDenied, kInvalidArgument
  // "bad_address". Connections are taken from now on.
  static Task<std::shared_ptr<Forwarder>> listen(Connection& connection, std::string ref,
                                                 sdk::ForwardOptions options);

  const std::string& address() const { return options_.address; }
  std::uint16_t local_port() const { return options_.local_port; }
  std::uint16_t remote_port() const { return options_.remote_port; }

  // Stops listening, breaks what is open, and waits until nothing of it runs. Before the end.
  asio::awaitable<void> close();

 private:
  using Tcp = asio::ip::tcp;
  static constexpr std::size_t kMost = 256;  // connections at once; more wait to be taken

  Forwarder(Connection& connection, std::string ref, sdk::ForwardOptions options,
            Tcp::acceptor acceptor);
  asio::awaitable<void> accept_all();
  asio::awaitable<void> serve(Tcp::socket socket);

  Connection& connection_;
  std::string ref_;
  sdk::ForwardOptions options_;
  Tcp::acceptor acceptor_;
  std::size_t open_ = 0;
  Event closed_one_;
  Scope work_;
};

}  // namespace cay::client
