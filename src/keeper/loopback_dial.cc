#include "keeper/loopback_dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cay::keeper {
namespace {

constexpr int kKernelBuffer = 256 * 1024;  // of each direction: a guest decides how full they are

int connect_to(int fd, bool v6, std::uint16_t port) {
  if (v6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_loopback;
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0
                                                                                           : errno;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0
                                                                                         : errno;
}

// With nobody listening, a connect to a port of the ephemeral range may meet itself.
bool met_itself(int fd) {
  sockaddr_storage ours{}, theirs{};
  socklen_t size = sizeof ours, other = sizeof theirs;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&ours), &size) != 0) return false;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&theirs), &other) != 0) return false;
  return size == other && std::memcmp(&ours, &theirs, size) == 0;
}

void set_options(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno",
               4);  // the sandbox's own loopback: pacing (bbr) finds no rate there
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kKernelBuffer, sizeof kKernelBuffer);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kKernelBuffer, sizeof kKernelBuffer);
}

}  // namespace

void LoopbackDial::begin(GuestSockets::Pair sockets, std::uint16_t port, Done done) {
  port_ = port;
  socket_ = std::move(sockets.v4);
  second_ = std::move(sockets.v6);
  done_ = std::move(done);
  try_to_connect();
}

UniqueFd LoopbackDial::stop() {
  watch_.reset();
  second_.reset();
  done_ = {};
  return std::move(socket_);
}

void LoopbackDial::try_to_connect() {
  set_options(socket_.get());
  const int err = connect_to(socket_.get(), second_try_, port_);
  if (err == 0) return connected();
  if (err != EINPROGRESS) return refused(err);
  watch_ = loop_.watch(socket_.get(), EPOLLOUT, [this](std::uint32_t) { on_connected(); });
}

void LoopbackDial::on_connected() {
  int err = 0;
  socklen_t size = sizeof err;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &err, &size) != 0) err = errno;
  if (err != 0) return refused(err);
  connected();
}

void LoopbackDial::connected() {
  if (met_itself(socket_.get())) return refused(ECONNREFUSED);
  finish(0);
}

void LoopbackDial::refused(int err) {
  watch_.reset();
  if (second_) {
    second_try_ = true;
    socket_ = std::move(second_);
    return try_to_connect();
  }
  finish(err);
}

// The callee may destroy this object: `done` holds its owner until it returns.
void LoopbackDial::finish(int err) {
  watch_.reset();
  second_.reset();
  const Done done = std::exchange(done_, {});
  done(err);
}

}  // namespace cay::keeper
