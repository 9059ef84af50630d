#include "http/body_reader.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>

#include <algorithm>

#include "async/deadline.h"
#include "async/piped.h"
#include "base/ascii.h"
#include "base/wiped_memory.h"
#include "http/write_message.h"

namespace cay::http {
namespace {

namespace bhttp = beast::http;

constexpr std::size_t kBodyPiece = 64 * 1024;
constexpr std::size_t kNoShort =
    64;  // a string of so many bytes has memory of its own, which moves with it

class BodySource final : public PipedSource {
 public:
  explicit BodySource(std::shared_ptr<BodyReader> body) : body_(std::move(body)) {}
  Task<Bytes> next() override { return body_->next_piece(); }
  std::optional<Bytes> come() override {
    return body_->is_over() ? std::optional<Bytes>(Bytes()) : std::nullopt;
  }
  bool can_splice() const override { return body_->can_splice(); }
  Task<KernelPipe> next_piped() override { return body_->next_piped_piece(); }

 private:
  std::shared_ptr<BodyReader> body_;
};

}  // namespace

BodyReader::BodyReader(RequestConnection& connection, ReadBuffer& buffer, RequestParser& parser,
                       const RequestHead& head)
    : connection_(connection), buffer_(buffer), parser_(parser) {
  const auto expect = head.headers.get("Expect");
  expects_continue_ = expect && equals_ignoring_case(*expect, "100-continue");
}

std::unique_ptr<ByteSource> body_source(std::shared_ptr<BodyReader> body) {
  return std::make_unique<BodySource>(std::move(body));
}

Task<void> BodyReader::send_continue() {
  expects_continue_ = false;
  bhttp::response<bhttp::empty_body> message(bhttp::status::continue_, 11);
  ErrorCode error;
  co_await write_message(connection_.channel(), message, error);
  if (error) co_return broken(error, "answer the client");
  co_return Result<void>();
}

Task<ErrorCode> BodyReader::read_piece() {
  ErrorCode error;
  co_await bhttp::async_read_some(connection_.channel(), buffer_, parser_, to(error));
  co_return error;
}

Task<Bytes> BodyReader::next_piece() {
  if (connection_.is_gone()) co_return client_gone();
  Bytes piece(knows_left() ? static_cast<std::size_t>(std::min<std::uint64_t>(*left_, kBodyPiece))
                           : kBodyPiece,
              '\0');
  CAY_CO_TRY(const std::size_t got, co_await read_into(piece));
  piece.resize(got);
  co_return piece;
}

Task<std::size_t> BodyReader::read_into(std::span<char> into) {
  if (connection_.is_gone() || connection_.is_broken_off()) co_return client_gone();
  if (awaits_continue()) {
    CAY_CO_CHECK(co_await send_continue());
  }
  if (const auto here = take_known(into)) co_return *here;
  if (knows_left()) {
    auto got = co_await read_known_into(into);
    co_return got;
  }
  while (!parser_.is_done()) {
    auto& body = parser_.get().body();
    body.data = into.data();
    body.size = into.size();
    connection_.transport().expires_never();
    auto reading = read_piece();
    auto done = co_await with_deadline<ErrorCode>(
        std::move(reading), connection_.config().body_limit, "the request's body");
    if (!done || *done == asio::error::operation_aborted) co_return late();
    ErrorCode error = *done;
    if (error == bhttp::error::need_buffer) error = {};
    if (error) {
      connection_.close_after();
      const bool malformed =
          error.category() == bhttp::make_error_code(bhttp::error::bad_chunk).category() &&
          error != bhttp::error::end_of_stream && error != bhttp::error::partial_message;
      if (malformed)
        co_return Error{Code::kInvalidArgument, "bad_body",
                        "the request's body is malformed: " + error.message(), 0};
      co_return broken(error, "read the request's body");
    }
    const std::size_t got = into.size() - body.size;
    if (got > 0) co_return got;
  }
  connection_.transport().expires_never();
  co_return std::size_t{0};
}

Error BodyReader::late() {
  connection_.close_after();
  return Error{Code::kDeadlineExceeded, "body_timeout", "the request's body did not arrive in time",
               0};
}

// Beast's parser takes a body through a buffer of its own, some kilobytes at a time. A body of
// known length needs no parser.
bool BodyReader::knows_left() {
  if (!left_) {
    const auto left = parser_.content_length_remaining();
    if (left && !parser_.chunked()) left_ = parser_.is_done() ? 0 : *left;
  }
  return left_.has_value();
}

// nullopt: it must be waited for.
std::optional<std::size_t> BodyReader::take_known(std::span<char> into) {
  if (connection_.is_gone() || connection_.is_broken_off() || awaits_continue() || !knows_left())
    return std::nullopt;
  if (*left_ < into.size()) into = into.first(static_cast<std::size_t>(*left_));
  if (into.empty()) return 0;
  if (buffer_.size() == 0) return std::nullopt;
  const std::size_t got = asio::buffer_copy(asio::buffer(into.data(), into.size()), buffer_.data());
  buffer_.consume(got);  // it came with the head
  *left_ -= got;
  return got;
}

Task<std::size_t> BodyReader::read_known_into(std::span<char> into) {
  if (*left_ < into.size()) into = into.first(static_cast<std::size_t>(*left_));
  std::size_t got = 0;
  connection_.transport().expires_never();
  auto reading = read_known(into, got);
  auto done = co_await with_deadline<ErrorCode>(std::move(reading), connection_.config().body_limit,
                                                "the request's body");
  if (!done || *done == asio::error::operation_aborted) co_return late();
  if (*done) {
    connection_.close_after();
    co_return broken(*done, "read the request's body");
  }
  co_return got;
}

// Counts the bytes at once. Their reader may be cancelled by then, and the rest of the body shows
// where the next request begins.
Task<ErrorCode> BodyReader::read_known(std::span<char> into, std::size_t& got) {
  ErrorCode error;
  got = co_await connection_.channel().async_read_some(asio::buffer(into.data(), into.size()),
                                                       to(error));
  *left_ -= got;
  co_return error;
}

bool BodyReader::can_splice() {
  return !connection_.is_gone() && !connection_.is_broken_off() &&
         connection_.channel().secured() == nullptr && !expects_continue_ && buffer_.size() == 0 &&
         knows_left() && *left_ > 0;
}

Task<KernelPipe> BodyReader::next_piped_piece() {
  if (connection_.is_gone() || connection_.is_broken_off()) co_return client_gone();
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(*left_, KernelPipe::kMost));
  connection_.transport().expires_never();
  ErrorCode error;
  CAY_CO_TRY(KernelPipe pipe, take_now(connection_.transport().socket(), most, error));
  *left_ -= pipe.size();
  if (would_block(error)) {
    pipe = KernelPipe();
    auto taking = take_slowly(error);
    auto done = co_await with_deadline<KernelPipe>(
        std::move(taking), connection_.config().body_limit, "the request's body");
    if (!done || error == asio::error::operation_aborted) co_return late();
    pipe = *std::move(done);
  }
  if (!error && pipe.empty()) error = asio::error::eof;
  if (error) {
    connection_.close_after();
    co_return broken(error, "read the request's body");
  }
  co_return pipe;
}

Task<KernelPipe> BodyReader::take_slowly(ErrorCode& error) {
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(*left_, KernelPipe::kMost));
  auto taken = co_await take_from(connection_.transport().socket(), most, error);
  if (taken) *left_ -= taken->size();  // at once, as in read_known
  co_return taken;
}

Task<std::string> BodyReader::read_all(std::size_t limit) {
  const Error too_large{Code::kInvalidArgument, "body_too_large",
                        "the request's body is longer than " + std::to_string(limit) + " bytes", 0};
  const auto length = parser_.content_length();
  if (length && *length > limit) co_return too_large;
  // It may hold a secret, so that what is answered is the only copy, and whoever gives up half-way
  // leaves none.
  const std::size_t first =
      length ? static_cast<std::size_t>(std::min<std::uint64_t>(*length, kBodyPiece)) : kBodyPiece;
  Wiped all(std::string(std::max(first, kNoShort), '\0'));
  std::size_t used = 0;
  while (true) {
    if (used == all.bytes().size() && !connection_.is_gone() &&
        !is_over()) {  // std::string's own growth would leave what it held where it was
      Wiped wider(std::string(2 * used, '\0'));
      all.bytes().copy(wider.bytes().data(), used);
      all = std::move(wider);
    }
    const std::span<char> rest(all.bytes().data() + used, all.bytes().size() - used);
    const auto here = take_known(rest);
    std::size_t got = here.value_or(0);
    if (!here) {
      CAY_CO_TRY(got, co_await read_into(rest));
    }
    if (got == 0) break;
    used += got;
    if (used > limit) co_return too_large;
  }
  all.bytes().resize(used);
  co_return std::move(all.bytes());
}

std::optional<std::uint64_t> BodyReader::told_left() const {
  if (left_) return left_;
  if (!parser_.is_header_done()) return std::nullopt;
  if (const auto told = parser_.content_length_remaining()) return *told;
  return std::nullopt;
}

bool BodyReader::fits_drain() const {
  if (is_over()) return true;
  const auto left = told_left();
  return !expects_continue_ && (!left || *left <= connection_.config().max_drain);
}

asio::awaitable<bool> BodyReader::drain() {
  if (is_over()) co_return true;
  if (!fits_drain()) co_return false;
  Wiped unwanted(std::string(kBodyPiece, '\0'));  // of a request that was refused, too
  std::size_t seen = 0;
  while (true) {
    auto got = co_await read_into(unwanted.bytes());
    if (!got) co_return false;
    if (*got == 0) co_return true;
    seen += *got;
    if (seen > connection_.config().max_drain) co_return false;
  }
}

}  // namespace cay::http
