// Stream: a connected TCP or UNIX socket and the bytes read ahead from it.
#include "http/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>

#include "async/deadline.h"

namespace cay::http {

namespace {
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadAhead = 16 * 1024;

void set_int(int fd, int level, int name, int value) {
  // Best effort: on a UNIX socket these do not exist.
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}
}  // namespace

Stream::Stream(Socket socket) : socket_(std::move(socket)) {}

asio::awaitable<Stream::Read> Stream::read_some(char* data, std::size_t size) {
  if (begin_ < buffer_.size()) {
    const auto take = std::min(size, buffer_.size() - begin_);
    std::memcpy(data, buffer_.data() + begin_, take);
    consume(take);
    co_return Read{take, {}};
  }
  auto [error, bytes] = co_await socket_.async_read_some(asio::buffer(data, size), kTuple);
  if (error == asio::error::eof) co_return Read{};
  co_return Read{bytes, error};
}

asio::awaitable<Stream::Read> Stream::fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  const auto old = buffer_.size();
  buffer_.resize(old + kReadAhead);
  auto space = asio::buffer(buffer_.data() + old, kReadAhead);
  auto [error, bytes] = co_await socket_.async_read_some(space, kTuple);
  buffer_.resize(old + bytes);
  if (error == asio::error::eof) co_return Read{};
  co_return Read{bytes, error};
}

void Stream::consume(std::size_t size) {
  begin_ += size;
  if (begin_ < buffer_.size()) return;
  begin_ = 0;
  buffer_.clear();
  if (buffer_.capacity() > 2 * kReadAhead) buffer_.shrink_to_fit();
}

asio::awaitable<ErrorCode> Stream::write(std::string_view bytes) {
  auto [error, sent] = co_await asio::async_write(socket_, asio::buffer(bytes), kTuple);
  static_cast<void>(sent);
  co_return error;
}

asio::awaitable<ErrorCode> Stream::write_all(const std::vector<asio::const_buffer>& buffers) {
  auto [error, sent] = co_await asio::async_write(socket_, buffers, kTuple);
  static_cast<void>(sent);
  co_return error;
}

void Stream::watch_peer(std::function<void()> gone) {
  if (!socket_.is_open() || begin_ < buffer_.size()) return;  // pipelined bytes hide the end
  auto watcher = std::make_shared<std::function<void()>>(std::move(gone));
  watcher_ = watcher;
  std::weak_ptr<std::function<void()>> weak = watcher;
  const int fd = socket_.native_handle();
  socket_.async_wait(Socket::wait_read, [weak, fd](ErrorCode error) {
    const auto alive = weak.lock();
    if (!alive || error == asio::error::operation_aborted) return;
    char byte = 0;
    const auto got = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    const bool ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (ended) (*alive)();
  });
}

void Stream::unwatch() {
  if (!watcher_) return;
  watcher_.reset();
  cancel();
}

void Stream::cancel() {
  ErrorCode ignored;
  socket_.cancel(ignored);
}

void Stream::shutdown_send() {
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void Stream::close() {
  watcher_.reset();
  ErrorCode ignored;
  socket_.close(ignored);
}

asio::awaitable<void> Stream::drop_input() {
  consume(buffer_.size() - begin_);
  for (;;) {
    auto got = co_await fill();
    if (got.error || got.bytes == 0) co_return;
    consume(got.bytes);
  }
}

asio::awaitable<void> Stream::linger(Millis limit) {
  unwatch();
  shutdown_send();
  auto ended = co_await detail::run_until(drop_input(), limit);
  static_cast<void>(ended);
  close();
}

void Stream::abort() {
  if (socket_.is_open()) {
    const struct linger now{1, 0};
    static_cast<void>(::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &now, sizeof now));
  }
  close();
}

bool Stream::is_quiet() {
  if (!socket_.is_open() || begin_ < buffer_.size()) return false;
  char byte = 0;
  const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && errno == EAGAIN;
}

std::optional<std::uint32_t> Stream::millis_since_ack() {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (!socket_.is_open()) return std::nullopt;
  if (::getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info.tcpi_last_ack_recv;
}

void set_stream_options(Stream::Socket& socket) {
  const int fd = socket.native_handle();
  set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace cay::http
