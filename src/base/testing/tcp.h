// TCP on loopback, for tests: a listener, the two ends of a connection, and what comes over them.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace cay::testing {

// 127.0.0.1, or ::1.
class Listener {
 public:
  explicit Listener(bool v6 = false, int backlog = 16)
      : fd_(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_loopback;
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address = v6 ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
    socklen_t size = v6 ? sizeof six : sizeof four;
    if (::bind(fd_.get(), address, size) != 0 || ::listen(fd_.get(), backlog) != 0)
      throw std::runtime_error("listen");
    ::getsockname(fd_.get(), address, &size);
    port_ = ntohs(v6 ? six.sin6_port : four.sin_port);
  }
  std::uint16_t port() const { return port_; }
  // The next connection, waited for; `flags` may be SOCK_NONBLOCK.
  UniqueFd accept(int flags = 0) const {
    return UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | flags));
  }
  // The same if it is there, else none.
  UniqueFd accept_now(int flags = 0) const {
    pollfd at{fd_.get(), POLLIN, 0};
    return ::poll(&at, 1, 0) == 1 ? accept(flags) : UniqueFd();
  }
  UniqueFd connect() const {
    sockaddr_storage at{};
    socklen_t size = sizeof at;
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    UniqueFd out(::socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(out.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0)
      throw std::runtime_error("connect");
    return out;
  }

 private:
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

// Both ends of a connection: ours does not block.
struct TcpPair {
  TcpPair() {
    const Listener listener;
    theirs = listener.connect();
    ours = listener.accept(SOCK_NONBLOCK);
  }
  UniqueFd theirs, ours;
};

// Waits for `wait_ms` and returns -1 if nothing came, 0 for bytes (which are lost) or the end, and
// the errno of a connection that broke.
inline int comes(const UniqueFd& fd, int wait_ms) {
  pollfd at{fd.get(), POLLIN, 0};
  if (::poll(&at, 1, wait_ms) == 0) return -1;
  char bytes[4096];
  return ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT) < 0 ? errno : 0;
}

// Up to `most` bytes, or to the end.
inline std::string read_bytes(const UniqueFd& fd, std::size_t most) {
  std::string out;
  char buffer[64 * 1024];
  while (out.size() < most) {
    const ssize_t got = ::recv(fd.get(), buffer, std::min(sizeof buffer, most - out.size()), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return out;
}

inline bool write_bytes(const UniqueFd& fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

// The peer sees a reset.
inline void break_off(UniqueFd fd) {
  const linger now{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace cay::testing
