#include "http/raw_stream.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <utility>

#include "async/deadline.h"

namespace cay::http {

constexpr std::size_t kPiece = 256 * 1024;

namespace {

// A record of TLS is whole before any of it is readable. Its first byte shows its size, at most 16
// KiB.
asio::awaitable<Bytes> read_record(Channel& channel, ErrorCode& error) {
  char first = 0;
  const std::size_t got =
      co_await channel.async_read_some(asio::buffer(&first, sizeof first), to(error));
  if (error) co_return Bytes();
  Bytes piece(got, first);
  SSL* const tls = channel.secured()->native_handle();
  if (const int more = ::SSL_pending(tls); more > 0) {
    piece.resize(got + static_cast<std::size_t>(more));
    const int read = ::SSL_read(tls, piece.data() + got,
                                more);  // of what was opened already: nothing is waited for
    piece.resize(got + static_cast<std::size_t>(std::max(read, 0)));
  }
  co_return piece;
}

}  // namespace

asio::awaitable<Bytes> read_when_there(Channel& channel, ErrorCode& error, std::size_t most) {
  if (channel.secured() != nullptr) {
    auto record = co_await read_record(channel, error);
    co_return record;
  }
  auto& socket = channel.next_layer().socket();
  std::size_t there = socket.available(error);
  if (!error && there == 0) {
    co_await socket.async_wait(asio::socket_base::wait_read, to(error));
    if (!error) there = socket.available(error);
  }
  if (error) co_return Bytes();
  Bytes piece(std::clamp<std::size_t>(there, 1, most),
              '\0');  // none there: only a read shows the end
  const std::size_t got = co_await channel.async_read_some(asio::buffer(piece), to(error));
  piece.resize(error ? 0 : got);
  co_return piece;
}

void without_pacing(int socket) { ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4); }

// A peer that is gone without a word is found out in a minute; one that only takes nothing answers
// the kernel's probes.
RawStream::RawStream(std::shared_ptr<Channel> channel, Bytes early, Error lost)
    : channel_(std::move(channel)), early_(std::move(early)), lost_(std::move(lost)) {
  channel_->next_layer().expires_never();
  ErrorCode ignored;
  auto& socket = channel_->next_layer().socket();
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  for (const auto& [name, value] :
       {std::pair{TCP_KEEPIDLE, 30}, std::pair{TCP_KEEPINTVL, 10}, std::pair{TCP_KEEPCNT, 3}}) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, name, &value, sizeof value);
  }
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
}

RawStream::~RawStream() {
  ErrorCode ignored;
  if (ended_ && shut_)
    channel_->next_layer().socket().set_option(asio::socket_base::linger(false, 0), ignored);
  if (on_end_) on_end_(ended_ && shut_);
}

Error RawStream::broke(const ErrorCode& error) const {
  Error out = lost_;
  out.os_errno = error.value();
  return out;
}

asio::awaitable<void> RawStream::let_arrive() {
  constexpr int kLooks = 100;
  constexpr Millis kLook{5};
  for (int i = 0; i < kLooks; ++i) {
    int left = 0;
    if (::ioctl(channel_->next_layer().socket().native_handle(), SIOCOUTQ, &left) != 0 || left == 0)
      co_return;
    co_await sleep_for(kLook);
  }
}

void RawStream::reset(Channel& channel) {
  ErrorCode ignored;
  channel.next_layer().socket().set_option(asio::socket_base::linger(true, 0), ignored);
  channel.next_layer().close();
}

Task<Bytes> RawStream::read() {
  if (!early_.empty()) co_return std::exchange(early_, {});
  ErrorCode error;
  auto piece = co_await read_when_there(*channel_, error, kPiece);
  if (error == asio::error::eof) {
    ended_ = true;
    co_return Bytes();
  }
  if (error) co_return broke(error);
  co_return piece;
}

Task<void> RawStream::write(Bytes bytes) {
  ErrorCode error;
  co_await asio::async_write(*channel_, asio::buffer(bytes), to(error));
  if (error) co_return broke(error);
  co_return Result<void>();
}

Task<void> RawStream::shut_write() {
  shut_ = true;
  ErrorCode ignored;
  channel_->next_layer().socket().shutdown(asio::socket_base::shutdown_send, ignored);
  co_return Result<void>();
}

bool RawStream::can_splice() const { return channel_->secured() == nullptr && early_.empty(); }

Task<KernelPipe> RawStream::read_piped(std::size_t most) {
  ErrorCode error;
  CAY_CO_TRY(KernelPipe pipe, co_await take_from(channel_->next_layer().socket(), most, error));
  if (error) co_return broke(error);
  if (pipe.empty()) ended_ = true;
  co_return pipe;
}

Task<void> RawStream::write_piped(KernelPipe pipe) {
  ErrorCode error;
  co_await give_to(channel_->next_layer().socket(), pipe, error);
  if (error) co_return broke(error);
  co_return Result<void>();
}

}  // namespace cay::http
