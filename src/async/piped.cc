#include "async/piped.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "async/event.h"

namespace cay {
namespace {

using ErrorCode = boost::system::error_code;

ErrorCode last() { return {errno, boost::system::system_category()}; }

asio::awaitable<void> ready(KernelSocket& socket, KernelSocket::wait_type what, ErrorCode& failed) {
  co_await socket.async_wait(what, asio::redirect_error(asio::use_awaitable, failed));
  co_await throw_if_cancelled();
}

}  // namespace

Task<Bytes> PassingSource::next() {
  if (failed_) co_return *failed_;
  CAY_CO_TRY(Bytes piece, co_await inner_->next());
  CAY_CO_CHECK(see(piece.size()));
  co_return std::move(piece);
}

std::optional<Bytes> PassingSource::come() {
  auto piece = piped_ == nullptr || failed_ ? std::nullopt : piped_->come();
  if (!piece) return std::nullopt;
  if (auto seen = see(piece->size()); !seen) {
    failed_ = std::move(seen).error();
    return std::nullopt;
  }
  return piece;
}

Task<KernelPipe> PassingSource::next_piped() {
  CAY_CO_TRY(KernelPipe piece, co_await piped_->next_piped());
  CAY_CO_CHECK(see(piece.size()));
  co_return std::move(piece);
}

bool would_block(const ErrorCode& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

Result<KernelPipe> take_now(KernelSocket& socket, std::size_t most, ErrorCode& failed) {
  if (!socket.native_non_blocking()) socket.native_non_blocking(true, failed);
  CAY_TRY(KernelPipe pipe, KernelPipe::make());
  do {
    failed = pipe.take(socket.native_handle(), most) < 0 ? last() : ErrorCode();
  } while (failed == asio::error::interrupted);
  return pipe;
}

Task<KernelPipe> take_from(KernelSocket& socket, std::size_t most, ErrorCode& failed) {
  for (;;) {
    {  // One is taken for as long as there are bytes: what waits holds none.
      CAY_CO_TRY(KernelPipe pipe, take_now(socket, most, failed));
      if (!would_block(failed)) co_return pipe;
    }
    co_await ready(socket, KernelSocket::wait_read, failed);
    if (failed) co_return KernelPipe();
  }
}

bool give_now(KernelSocket& socket, KernelPipe& pipe, ErrorCode& failed) {
  failed = {};
  // splice(2) looks at the socket's own flag only, whatever flags the call has.
  if (!socket.native_non_blocking()) socket.native_non_blocking(true, failed);
  if (failed) return false;
  while (!pipe.empty()) {
    if (pipe.give(socket.native_handle()) >= 0) continue;
    if (errno == EINTR) continue;
    failed = last();
    if (would_block(failed)) failed = {};
    return false;
  }
  return true;
}

asio::awaitable<void> give_to(KernelSocket& socket, KernelPipe& pipe, ErrorCode& failed) {
  const auto loop = co_await asio::this_coro::executor;
  while (!give_now(socket, pipe, failed)) {
    if (failed) co_return;
    co_await ready(socket, KernelSocket::wait_write, failed);
    if (failed) co_return;
  }
  // Two sides that are always ready would leave nothing of the loop to others.
  co_await asio::post(loop, asio::use_awaitable);
}

}  // namespace cay
