#include "runtime/keeper/dialer.h"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cay::runtime {
namespace {

constexpr Millis kConnectLimit{3000};

Task<StreamSocket> dial_tcp(std::string host, std::uint16_t port) {
  const std::string name = host + ":" + std::to_string(port);
  boost::system::error_code failed;
  const auto address = asio::ip::make_address(host, failed);
  if (failed)
    co_return Error{Code::kInvalidArgument, "bad_address", "not a numeric address: " + host, 0};
  auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::socket socket(executor);
  const asio::ip::tcp::endpoint endpoint(address, port);
  asio::steady_timer timer(executor);
  timer.expires_after(kConnectLimit);
  timer.async_wait([&socket](boost::system::error_code stopped) {
    if (!stopped) socket.close(stopped);
  });
  co_await socket.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, failed));
  timer.cancel();
  if (!failed && !socket.is_open()) failed = asio::error::timed_out;
  if (failed) co_return connect_error(name, failed);
  socket.set_option(asio::ip::tcp::no_delay(true), failed);
  if (!failed) socket.set_option(asio::socket_base::keep_alive(true), failed);
  if (failed) co_return connect_error(name, failed);
  StreamSocket generic(std::move(socket));
  co_return std::move(generic);
}

}  // namespace

Error connect_error(const std::string& name, const boost::system::error_code& failed) {
  const bool nobody = failed == boost::system::errc::connection_refused ||
                      failed == boost::system::errc::no_such_file_or_directory;
  return Error{nobody ? Code::kNotFound : Code::kUnavailable, "connect_failed",
               "connect to " + name + ": " + failed.message(), failed.value()};
}

Dialer tcp_dialer(std::string host, std::uint16_t port) {
  return [host = std::move(host), port] { return dial_tcp(host, port); };
}

}  // namespace cay::runtime
