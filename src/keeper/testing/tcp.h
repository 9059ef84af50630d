// Blocking TCP on loopback, for tests: a listener, and what it accepts.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/unique_fd.h"

namespace cay::keeper::testing {

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
    if (::bind(fd_.get(), address, size) != 0 || ::listen(fd_.get(), backlog) != 0) throw std::runtime_error("listen");
    ::getsockname(fd_.get(), address, &size);
    port_ = ntohs(v6 ? six.sin6_port : four.sin_port);
  }
  std::uint16_t port() const { return port_; }
  UniqueFd accept() const { return UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

 private:
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

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

}  // namespace cay::keeper::testing
