#include "gate/sockets.h"

#include <linux/netfilter_ipv4.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <span>

#include "async/deadline.h"

namespace cay::gate {
namespace {

constexpr int kV6OriginalDestination = 80;  // IP6T_SO_ORIGINAL_DST; its header does not go with C++
constexpr int kProbeAfterSeconds = 60;
constexpr Millis kMostBetweenLooks{500};

std::optional<Endpoint> endpoint_of(const sockaddr_storage& at) {
  Endpoint out;
  if (at.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &at, sizeof four);
    out.address = IpAddress::v4(
        std::span<const std::uint8_t, 4>(reinterpret_cast<const std::uint8_t*>(&four.sin_addr), 4));
    out.port = ntohs(four.sin_port);
    return out;
  }
  if (at.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &at, sizeof six);
    out.address = IpAddress::v6(std::span<const std::uint8_t, 16>(six.sin6_addr.s6_addr));
    out.port = ntohs(six.sin6_port);
    return out;
  }
  return std::nullopt;
}

// A repeated connect(2) reports whether the connection is there (0), under way (EALREADY) or
// failed.
int connect_to(int socket_fd, const Endpoint& to) {
  if (to.address.is_v4()) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(to.port);
    std::memcpy(&at.sin_addr, to.address.v4_bytes().data(), sizeof at.sin_addr);
    return ::connect(socket_fd, reinterpret_cast<const sockaddr*>(&at), sizeof at);
  }
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  at.sin6_port = htons(to.port);
  std::memcpy(&at.sin6_addr, to.address.bytes().data(), sizeof at.sin6_addr);
  return ::connect(socket_fd, reinterpret_cast<const sockaddr*>(&at), sizeof at);
}

Task<UniqueFd> wait_connected(asio::any_io_executor loop, UniqueFd fd) {
  Descriptor at(loop, fd.get());
  try {
    co_await at.async_wait(Descriptor::wait_write, asio::use_awaitable);
  } catch (...) {
    at.release();
    throw;
  }
  at.release();
  int err = 0;
  socklen_t size = sizeof err;
  const bool failed = ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &err, &size) != 0 || err != 0;
  if (failed) co_return Error::from_errno(err, "connect");
  co_return std::move(fd);
}

}  // namespace

asio::awaitable<void> readable(Descriptor& at) {
  co_await at.async_wait(Descriptor::wait_read, asio::use_awaitable);
}

asio::awaitable<void> writable(Descriptor& at) {
  co_await at.async_wait(Descriptor::wait_write, asio::use_awaitable);
}

asio::awaitable<void> give_way() {
  const auto loop = co_await asio::this_coro::executor;
  co_await asio::post(loop, asio::use_awaitable);
}

std::optional<Endpoint> original_destination(int socket_fd) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  int domain = 0;
  socklen_t domain_size = sizeof domain;
  if (::getsockopt(socket_fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0)
    return std::nullopt;
  const bool six = domain == AF_INET6;
  if (::getsockopt(socket_fd, six ? IPPROTO_IPV6 : IPPROTO_IP,
                   six ? kV6OriginalDestination : SO_ORIGINAL_DST, &at, &size) != 0) {
    return std::nullopt;
  }
  return endpoint_of(at);
}

Task<UniqueFd> dial(asio::any_io_executor loop, Endpoint to, BufferSizes buffers, Millis limit) {
  const bool four = to.address.is_v4();
  UniqueFd fd(
      ::socket(four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd) co_return Error::from_errno(errno, "make a socket");
  set_buffers(fd.get(), buffers);  // before the connect, which announces their window
  int done = connect_to(fd.get(), to);
  // On this host it is there at once, and all that waiting costs can be left out.
  if (done != 0 && errno == EINPROGRESS) done = connect_to(fd.get(), to);
  if (done == 0) co_return std::move(fd);
  if (errno != EALREADY) co_return Error::from_errno(errno, "connect");
  auto waiting = wait_connected(loop, std::move(fd));
  auto connected = co_await with_deadline(std::move(waiting), limit, "the connect");
  co_return connected;
}

asio::awaitable<void> delivered(int socket_fd) {
  for (Millis pause{1};; pause = std::min(pause * 2, kMostBetweenLooks)) {
    tcp_info info{};
    socklen_t size = sizeof info;
    int left = 0;
    if (::getsockopt(socket_fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        info.tcpi_state == TCP_CLOSE)
      co_return;
    if (::ioctl(socket_fd, SIOCOUTQ, &left) != 0 || left == 0) co_return;
    co_await sleep_for(pause);
  }
}

void on_close(int socket_fd, OnClose what) {
  const linger how{what == OnClose::kReset ? 1 : 0, 0};
  ::setsockopt(socket_fd, SOL_SOCKET, SO_LINGER, &how, sizeof how);
}

void cut(int socket_fd) {
  const sockaddr none{.sa_family = AF_UNSPEC, .sa_data = {}};
  ::connect(socket_fd, &none, sizeof none);
}

void tune(int socket_fd) {
  const int on = 1;
  ::setsockopt(socket_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket_fd, IPPROTO_TCP, TCP_KEEPIDLE, &kProbeAfterSeconds,
               sizeof kProbeAfterSeconds);
}

}  // namespace cay::gate
