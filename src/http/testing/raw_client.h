// RawClient: a blocking TCP connection that sends exactly the bytes a test wants. Every read has a
// time limit, so that a server that hangs fails the test.
#pragma once
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace cay::http::testing {

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    void* raw = &address;
    if (::connect(fd_.get(), static_cast<sockaddr*>(raw), sizeof address) != 0)
      throw std::runtime_error("connect");
  }

  // false: the peer has gone.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Reads once; empty at the end (or when the connection was reset, see was_reset).
  std::string read_some(std::size_t most = 65536) {
    wait();
    std::string out(most, '\0');
    const auto got = ::recv(fd_.get(), out.data(), out.size(), 0);
    if (got < 0 && errno == ECONNRESET) reset_ = true;
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }

  std::string read_to_end() {
    std::string all = std::move(pending_);
    pending_.clear();
    for (;;) {
      auto piece = read_some();
      if (piece.empty()) return all;
      all += piece;
    }
  }

  // Exactly `size` bytes, or what came before the end.
  std::string read_exactly(std::size_t size) {
    while (pending_.size() < size) {
      auto piece = read_some();
      if (piece.empty()) break;
      pending_ += piece;
    }
    auto out = pending_.substr(0, size);
    pending_.erase(0, size);
    return out;
  }

  // Up to and with `mark`.
  std::string read_until(std::string_view mark) {
    for (;;) {
      const auto at = pending_.find(mark);
      if (at != std::string::npos) return read_exactly(at + mark.size());
      auto piece = read_some();
      if (piece.empty()) return read_exactly(pending_.size());
      pending_ += piece;
    }
  }

  // One answer with Content-Length: head and body.
  std::string read_answer() {
    auto head = read_until("\r\n\r\n");
    const auto at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + read_exactly(std::stoul(head.substr(at + 16)));
  }

  int fd() const { return fd_.get(); }  // for a protocol above it
  bool was_reset() const { return reset_; }
  void half_close() { ::shutdown(fd_.get(), SHUT_WR); }
  // RST.
  void drop() {
    const struct linger now{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    fd_.reset();
  }
  void close() { fd_.reset(); }

 private:
  void wait() {
    pollfd p{fd_.get(), POLLIN, 0};
    if (::poll(&p, 1, 10'000) <= 0) throw std::runtime_error("the server sent nothing for 10 s");
  }
  UniqueFd fd_;
  std::string pending_;
  bool reset_ = false;
};

}  // namespace cay::http::testing
