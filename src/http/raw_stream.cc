#include "http/raw_stream.h"

#include <boost/asio/write.hpp>

namespace cay::http {

constexpr std::size_t kPiece = 256 * 1024;

RawStream::RawStream(Channel channel, Bytes early) : channel_(std::move(channel)), early_(std::move(early)) {
  channel_.next_layer().expires_never();  // silence is the speakers' business; a peer that is gone is noticed by the kernel's probes
  ErrorCode ignored;
  channel_.next_layer().socket().set_option(asio::socket_base::keep_alive(true), ignored);
}

RawStream::~RawStream() {
  if (ended_ && shut_) return;
  ErrorCode ignored;
  channel_.next_layer().socket().set_option(asio::socket_base::linger(true, 0), ignored);
}

Task<Bytes> RawStream::read() {
  if (!early_.empty()) co_return std::exchange(early_, {});
  Bytes piece(kPiece, '\0');
  ErrorCode error;
  const std::size_t got = co_await channel_.async_read_some(asio::buffer(piece), to(error));
  if (error == asio::error::eof) {
    ended_ = true;
    co_return Bytes();
  }
  if (error) co_return broken(error, "read from the client");
  piece.resize(got);
  co_return piece;
}

Task<void> RawStream::write(Bytes bytes) {
  ErrorCode error;
  co_await asio::async_write(channel_, asio::buffer(bytes), to(error));
  if (error) co_return broken(error, "write to the client");
  co_return Result<void>();
}

Task<void> RawStream::shut_write() {
  shut_ = true;
  ErrorCode ignored;
  channel_.next_layer().socket().shutdown(asio::socket_base::shutdown_send, ignored);
  co_return Result<void>();
}

bool RawStream::can_splice() const { return channel_.secured() == nullptr && early_.empty(); }

Task<KernelPipe> RawStream::read_piped(std::size_t most) {
  ErrorCode error;
  CAY_CO_TRY(KernelPipe pipe, co_await take_from(channel_.next_layer().socket(), most, error));
  if (error) co_return broken(error, "read from the client");
  if (pipe.empty()) ended_ = true;
  co_return pipe;
}

Task<void> RawStream::write_piped(KernelPipe pipe) {
  ErrorCode error;
  co_await give_to(channel_.next_layer().socket(), pipe, error);
  if (error) co_return broken(error, "write to the client");
  co_return Result<void>();
}

}  // namespace cay::http
