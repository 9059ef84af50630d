#include "vault/guest_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include "async/deadline.h"
#include "gate/sockets.h"
#include "http/raw_stream.h"
#include "http/write_message.h"
#include "vault/server_connection.h"

namespace cay::vault {
namespace {

namespace bhttp = http::beast::http;
using http::Channel;
using http::ErrorCode;
using http::to;

constexpr Millis kGuestHandshakeLimit{10'000};
constexpr Millis kIdleLimit{120'000};  // between two requests
constexpr Millis kCloseLimit{2'000};
constexpr Millis kBodyLimit{20};  // how long a head waits for the first of its body
constexpr std::uint32_t kMostHead = 64 * 1024;
constexpr std::size_t kPiece = 64 * 1024;

Task<void> wait_until_delivered(int fd) {
  co_await gate::delivered(fd);
  co_return Result<void>();
}

}  // namespace

Error guest_gone() { return {Code::kCancelled, "guest_gone", "the client left", 0}; }

void GuestConnection::open_plain(UniqueFd socket) {
  buffer_.max_size(kMostHead + kPiece);
  channel_ = std::make_shared<Channel>(transport_of(loop_, std::move(socket)));
}

Task<void> GuestConnection::open_tls(UniqueFd socket, SSL_CTX* certificates, std::string first) {
  buffer_.max_size(kMostHead + kPiece);
  SSL_CTX_up_ref(certificates);
  asio::ssl::context context(certificates);
  channel_ = std::make_shared<Channel>(transport_of(loop_, std::move(socket)), context);
  auto shaking = shake_hands(std::move(first));
  auto done = co_await with_deadline(std::move(shaking), kGuestHandshakeLimit, "the handshake");
  co_return done;
}

Task<void> GuestConnection::shake_hands(std::string first) {
  ErrorCode error;
  co_await channel_->secured()->async_handshake(asio::ssl::stream_base::server, asio::buffer(first),
                                                to(error));
  if (!error) co_return Result<void>();
  // The error names the client's reason, if it gave one. "unknown ca" means that it does not trust
  // the sandbox's authority.
  co_return Error{Code::kUnavailable, "authority_not_trusted",
                  "no TLS with the client: " + error.message(), 0};
}

Task<bool> GuestConnection::read_head(Parser& parser) {
  if (buffer_.size() == 0) buffer_.shrink_to_fit();  // the wait may be long
  parser.header_limit(kMostHead);
  parser.body_limit(boost::none);
  ErrorCode error;
  channel_->next_layer().expires_after(kIdleLimit);
  co_await bhttp::async_read_header(*channel_, buffer_, parser, to(error));
  channel_->next_layer().expires_never();
  const bool ended = error == bhttp::error::end_of_stream ||
                     error == asio::ssl::error::stream_truncated ||
                     error == http::beast::error::timeout;
  if (ended) co_return false;
  if (!error) {
    buffer_.shrink_to_fit();
    co_return true;
  }
  const ErrorCode of_http = bhttp::make_error_code(bhttp::error::bad_method);
  if (error.category() != of_http.category()) co_return guest_gone();
  co_return Error{Code::kInvalidArgument, "bad_request",
                  "the request is not proper HTTP/1.1: " + error.message(), 0};
}

asio::awaitable<Bytes> GuestConnection::early_body(Parser& parser, bool waits) {
  if (parser.is_done()) co_return Bytes();  // the next bytes belong to the next request
  unparsed_ = take_early();
  if (waits) co_return Bytes();
  ErrorCode error;  // next_of_body() meets it again
  Bytes out;
  for (;;) {
    out += parse_body(parser, error);
    const bool is_full = out.size() + unparsed_.size() >= kPiece;
    if (error || parser.is_done() || is_full) co_return out;
    if (!has_more(*channel_)) {
      if (!out.empty()) co_return out;
      auto waiting = wait_for_bytes();
      auto there = co_await with_deadline(std::move(waiting), kBodyLimit, "the body");
      if (!there) co_return out;
    }
    auto more = co_await http::read_when_there(*channel_, error, kPiece);
    if (error) co_return out;
    unparsed_ += more;
  }
}

Task<void> GuestConnection::send_continue() {
  bhttp::response<bhttp::empty_body> message(bhttp::status::continue_, 11);
  ErrorCode error;
  co_await http::write_message(*channel_, message, error);
  if (error) co_return guest_gone();
  co_return Result<void>();
}

Task<Bytes> GuestConnection::next_of_body(Parser& parser) {
  while (!parser.is_done()) {
    ErrorCode error;
    Bytes piece = parse_body(parser, error);
    if (error) co_return guest_gone();
    if (!piece.empty()) co_return piece;
    if (parser.is_done()) break;
    if (unparsed_.size() > kPiece) co_return guest_gone();  // the line of a chunk without an end
    auto more = co_await http::read_when_there(*channel_, error, kPiece);
    if (error) co_return guest_gone();
    unparsed_ += more;
  }
  co_return Bytes();
}

Task<void> GuestConnection::wait_for_bytes() {
  ErrorCode error;
  co_await channel_->next_layer().socket().async_wait(asio::socket_base::wait_read, to(error));
  if (error) co_return guest_gone();
  co_return Result<void>();
}

// Returns what is there of the body. Nothing means that more bytes are needed.
Bytes GuestConnection::parse_body(Parser& parser, ErrorCode& error) {
  Bytes piece(std::min(unparsed_.size(), kPiece), '\0');
  auto& body = parser.get().body();
  body.data = piece.data();
  body.size = piece.size();
  body.more = true;
  if (!unparsed_.empty()) unparsed_.erase(0, parser.put(asio::buffer(unparsed_), error));
  piece.resize(piece.size() - body.size);
  if (error == bhttp::error::need_buffer || error == bhttp::error::need_more) error = {};
  if (parser.is_done()) {  // the rest is the next request's
    const Bytes rest = std::exchange(unparsed_, {});
    buffer_.commit(asio::buffer_copy(buffer_.prepare(rest.size()), asio::buffer(rest)));
  }
  return piece;
}

Bytes GuestConnection::take_early() {
  const auto early = buffer_.data();
  Bytes out(static_cast<const char*>(early.data()), early.size());
  buffer_.consume(out.size());
  buffer_.shrink_to_fit();
  return out;
}

void GuestConnection::cut() {
  if (channel_) gate::cut(channel_->next_layer().socket().native_handle());
}

asio::awaitable<void> GuestConnection::end_politely() {
  const int fd = channel_->next_layer().socket().native_handle();
  if (channel_->secured() != nullptr) {
    auto closing = close_tls();
    auto closed = co_await with_deadline(std::move(closing), kCloseLimit, "the end");
    static_cast<void>(closed);
  }
  if (::shutdown(fd, SHUT_WR) != 0) co_return;
  auto delivering = wait_until_delivered(fd);
  auto delivered = co_await with_deadline(std::move(delivering), kIdleLimit, "the end");
  if (delivered) gate::on_close(fd, gate::OnClose::kFinish);
}

Task<void> GuestConnection::close_tls() {
  ErrorCode error;
  co_await channel_->secured()->async_shutdown(to(error));
  co_return Result<void>();
}

}  // namespace cay::vault
