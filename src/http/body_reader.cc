// BodyReader: the body that follows a head on a Stream.
#include "http/body_reader.h"

#include <algorithm>

namespace cay::http {

namespace {
constexpr std::size_t kPiece = 64 * 1024;
}

BodyReader::BodyReader(std::shared_ptr<Stream> stream, const Framing& framing, Until until)
    : stream_(std::move(stream)), chunked_(framing.chunked) {
  to_end_ = until == Until::kEnd && !framing.chunked && !framing.length;
  left_ = framing.length.value_or(0);
  done_ = !chunked_ && !to_end_ && left_ == 0;
}

std::optional<std::uint64_t> BodyReader::remaining() const {
  if (done_) return 0;
  if (chunked_ || to_end_) return std::nullopt;
  return left_;
}

Error BodyReader::lost() {
  failed_ = true;
  return Error{Code::kUnavailable, "connection_lost", "the connection broke before the end of the body", 0};
}

Task<Bytes> BodyReader::next() {
  if (done_) co_return Bytes();
  if (failed_) co_return lost();
  if (chunked_) {
    auto got = co_await next_chunked();
    co_return got;
  }
  auto got = co_await next_plain();
  co_return got;
}

Task<Bytes> BodyReader::next_plain() {
  Bytes piece;
  piece.resize(to_end_ ? kPiece : std::min<std::uint64_t>(left_, kPiece));
  auto got = co_await stream_->read_some(piece.data(), piece.size());
  if (got.error) co_return lost();
  if (got.bytes == 0) {
    if (!to_end_) co_return lost();
    done_ = true;
  }
  piece.resize(got.bytes);
  if (!to_end_) {
    left_ -= got.bytes;
    done_ = left_ == 0;
  }
  co_return piece;
}

Task<Bytes> BodyReader::next_chunked() {
  Bytes piece;
  for (;;) {
    auto in = stream_->buffered();
    const auto before = in.size();
    const auto state = decoder_.decode(in, piece, kPiece - piece.size());
    stream_->consume(before - in.size());
    if (state == ChunkDecoder::State::kBad) {
      failed_ = true;
      co_return Error{Code::kInvalidArgument, "bad_chunk", "malformed chunked body", 0};
    }
    if (state == ChunkDecoder::State::kDone) {
      done_ = true;
      co_return piece;
    }
    if (!piece.empty()) co_return piece;
    auto got = co_await stream_->fill();
    if (got.error || got.bytes == 0) co_return lost();
  }
}

}  // namespace cay::http
