#include "runtime/keeper/bulk.h"

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <string_view>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"
#include "runtime/keeper/keeper_calls.h"
#include "wire/keeper_features.h"

namespace cay::runtime {
namespace {

using ErrorCode = boost::system::error_code;

constexpr std::size_t kPiece = 64 * 1024;

bool waits(int err) { return err == EAGAIN || err == EWOULDBLOCK; }

Task<void> wait_for(KernelSocket& socket, KernelSocket::wait_type what) {
  ErrorCode failed;
  co_await socket.async_wait(what, asio::redirect_error(asio::use_awaitable, failed));
  co_await throw_if_cancelled();
  if (failed) co_return Error::from_errno(failed.value(), "wait for the file helper");
  co_return Result<void>{};
}

// The helper sits on a file of the guest's, which need never answer.
Task<void> ready(KernelSocket& socket, KernelSocket::wait_type what) {
  auto waiting = wait_for(socket, what);
  auto done = co_await with_deadline<void>(std::move(waiting), kFileLimit, "the file operation");
  if (!done && done.error().code == Code::kDeadlineExceeded) {
    co_return Error{Code::kDeadlineExceeded, "file_deadline",
                    "the file operation made no progress in time", 0};
  }
  co_return done;
}

}  // namespace

bool Bulk::is_known(const PersistentLink& line) {
  return line.theirs().passes_sockets && line.theirs().has(wire::keeper_feature::kBulk);
}

Result<std::unique_ptr<Bulk>> Bulk::adopt(asio::any_io_executor loop, UniqueFd passed) {
  if (!passed) return no_descriptors(EMFILE);
  int family = 0;
  int type = 0;
  socklen_t size = sizeof family;
  const bool fits = ::getsockopt(passed.get(), SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 &&
                    ::getsockopt(passed.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
                    family == AF_UNIX && type == SOCK_STREAM;
  ErrorCode failed;
  KernelSocket socket(std::move(loop));
  if (fits) socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), passed.get(), failed);
  if (!fits || failed) {
    return Error{Code::kInternal, "protocol_error",
                 "the sandbox's keeper sent something that is no stream socket", 0};
  }
  static_cast<void>(passed.release());
  socket.native_non_blocking(true, failed);
  return std::unique_ptr<Bulk>(new Bulk(std::move(socket)));
}

Task<Bytes> Bulk::read() {
  Bytes bytes(kPiece, '\0');
  for (;;) {
    const ssize_t got = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && waits(errno)) {
      CAY_CO_CHECK(co_await ready(socket_, KernelSocket::wait_read));
      continue;
    }
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));  // broken: the helper is gone
    co_return std::move(bytes);
  }
}

Task<KernelPipe> Bulk::read_piped() {
  for (;;) {
    ErrorCode failed;
    {  // One is taken for as long as there are bytes: what waits holds none.
      CAY_CO_TRY(KernelPipe pipe, take_now(socket_, KernelPipe::kMost, failed));
      if (!failed) co_return std::move(pipe);
    }
    if (!would_block(failed)) co_return KernelPipe();
    CAY_CO_CHECK(co_await ready(socket_, KernelSocket::wait_read));
  }
}

Task<bool> Bulk::write(Bytes bytes) {
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t sent =
        ::send(socket_.native_handle(), left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      left.remove_prefix(static_cast<std::size_t>(sent));
    } else if (waits(errno)) {
      CAY_CO_CHECK(co_await ready(socket_, KernelSocket::wait_write));
    } else if (errno != EINTR) {
      co_return false;
    }
  }
  co_return true;
}

Task<bool> Bulk::write_piped(KernelPipe pipe) {
  ErrorCode failed;
  while (!give_now(socket_, pipe, failed)) {
    if (failed) co_return false;
    CAY_CO_CHECK(co_await ready(socket_, KernelSocket::wait_write));
  }
  const auto loop = co_await asio::this_coro::executor;
  co_await asio::post(loop, asio::use_awaitable);  // others have their turn
  co_return true;
}

void Bulk::end() {
  ErrorCode ignored;  // a helper that is gone has its reason on the channel
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

}  // namespace cay::runtime
