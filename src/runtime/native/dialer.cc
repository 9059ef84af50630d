#include "runtime/native/dialer.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <filesystem>

#include "base/unique_fd.h"

namespace cay::runtime {
namespace {

constexpr Millis kConnectLimit{3000};

Error cannot_connect(const std::string& to, const boost::system::error_code& failed) {
  const bool nobody = failed == boost::system::errc::connection_refused ||
                      failed == boost::system::errc::no_such_file_or_directory;
  return Error{
      nobody ? Code::kNotFound : Code::kUnavailable, "connect_failed",
      "connect to " + std::filesystem::path(to).filename().string() + ": " + failed.message(),
      failed.value()};
}

Task<StreamSocket> dial_unix(std::string path) {
  const std::filesystem::path whole(path);
  const UniqueFd directory(::open(whole.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    const boost::system::error_code failed(errno, boost::system::system_category());
    co_return cannot_connect(path, failed);
  }
  // sockaddr_un holds 107 bytes; data directories may be deeper.
  const std::string shortened =
      "/proc/self/fd/" + std::to_string(directory.get()) + "/" + whole.filename().string();
  auto executor = co_await asio::this_coro::executor;
  StreamSocket socket(executor);
  const asio::local::stream_protocol::endpoint endpoint(shortened);
  boost::system::error_code failed;
  socket.open(asio::local::stream_protocol(), failed);
  if (!failed) socket.non_blocking(true, failed);
  // A UNIX connect never waits when it is non-blocking: a full backlog is EAGAIN, tried again
  // later.
  if (!failed) socket.connect(endpoint, failed);
  if (failed) co_return cannot_connect(path, failed);
  co_return std::move(socket);
}

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
  if (failed) co_return cannot_connect(name, failed);
  socket.set_option(asio::ip::tcp::no_delay(true), failed);
  if (!failed) socket.set_option(asio::socket_base::keep_alive(true), failed);
  if (failed) co_return cannot_connect(name, failed);
  StreamSocket generic(std::move(socket));
  co_return std::move(generic);
}

}  // namespace

Dialer unix_dialer(std::string path) {
  return [path = std::move(path)] { return dial_unix(path); };
}

Dialer tcp_dialer(std::string host, std::uint16_t port) {
  return [host = std::move(host), port] { return dial_tcp(host, port); };
}

}  // namespace cay::runtime
