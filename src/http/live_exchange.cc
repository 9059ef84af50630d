#include "http/live_exchange.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>

#include "async/deadline.h"
#include "async/piped.h"
#include "base/ascii.h"
#include "base/wiped_memory.h"
#include "http/raw_stream.h"
#include "http/write_message.h"

namespace cay::http {
namespace {

namespace bhttp = beast::http;

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kNoShort =
    64;  // a string of so many bytes has memory of its own, which moves with it
constexpr std::size_t kMostWithHead = 256 * 1024;
constexpr unsigned kHttp11 = 11;
constexpr int kNormal = 1000;
constexpr int kPolicyViolation = 1008;
constexpr int kTryAgainLater = 1013;

class BodySource final : public PipedSource {
 public:
  explicit BodySource(std::shared_ptr<LiveExchange> exchange) : exchange_(std::move(exchange)) {}
  Task<Bytes> next() override { return exchange_->next_piece(); }
  std::optional<Bytes> come() override { return std::nullopt; }
  bool can_splice() const override { return exchange_->can_splice_body(); }
  Task<KernelPipe> next_piped() override { return exchange_->next_piped_piece(); }

 private:
  std::shared_ptr<LiveExchange> exchange_;
};

Error gone() { return {Code::kCancelled, "client_gone", "the client's connection has ended", 0}; }

// Framing and hop-by-hop fields are Beast's.
bool is_ours(std::string_view name) {
  return equals_ignoring_case(name, "Content-Length") ||
         equals_ignoring_case(name, "Transfer-Encoding") ||
         equals_ignoring_case(name, "Connection");
}

bool bodyless(int status) {
  return status == 204 || status == 304 || (status >= 100 && status < 200);
}

}  // namespace

LiveExchange::LiveExchange(Channel& channel, ReadBuffer& buffer, RequestParser& parser,
                           RequestHead head, const ListenerConfig& config, const bool& ending,
                           OnSocket on_socket, OnLetIn on_let_in)
    : channel_(&channel),
      buffer_(buffer),
      parser_(parser),
      head_(std::move(head)),
      config_(config),
      ending_(ending),
      on_socket_(std::move(on_socket)),
      on_let_in_(std::move(on_let_in)),
      keep_alive_(parser.get().keep_alive()) {
  const auto expect = head_.headers.get("Expect");
  expects_continue_ = expect && equals_ignoring_case(*expect, "100-continue");
}

template <class Message>
void LiveExchange::fill(Message& message, const Headers& headers) {
  message.version(11);
  for (const auto& [name, value] : headers.items()) {
    if (!is_ours(name)) message.insert(name, value);
  }
  // A body that was not read to its end makes the connection unfit, unless little is left of it.
  if ((expects_continue_ && !is_body_over()) || ending_) keep_alive_ = false;
  message.keep_alive(keep_alive_);
}

Task<void> LiveExchange::send_continue() {
  expects_continue_ = false;
  bhttp::response<bhttp::empty_body> message(bhttp::status::continue_, 11);
  ErrorCode error;
  co_await write_message(*channel_, message, error);
  if (error) co_return broken(error, "answer the client");
  co_return Result<void>();
}

Task<ErrorCode> LiveExchange::read_piece() {
  ErrorCode error;
  co_await bhttp::async_read_some(*channel_, buffer_, parser_, to(error));
  co_return error;
}

Result<void> LiveExchange::let_in(Caller caller) {
  auto had = on_let_in_(std::move(caller));
  if (!had) keep_alive_ = false;
  return had;
}

asio::awaitable<bool> LiveExchange::break_off(std::string why) {
  broken_off_ = true;
  keep_alive_ = false;
  broken_why_ = why;
  if (const auto socket = socket_.lock()) {
    co_await Socket::close_of(socket, kPolicyViolation, std::move(why));
  } else if (const auto raw = raw_.lock()) {
    RawStream::reset(*raw);
  } else if (answered_) {
    reset_connection();
  }
  co_return answered_;
}

asio::awaitable<void> LiveExchange::give_way(std::shared_ptr<LiveExchange> self, std::string why) {
  self->keep_alive_ = false;
  self->broken_why_ = why;
  if (const auto socket = self->socket_.lock()) {
    co_await Socket::close_of(socket, kTryAgainLater, std::move(why));
  } else if (const auto raw = self->raw_.lock()) {
    RawStream::reset(*raw);
  } else {
    self->reset_connection();
  }
}

void LiveExchange::note_raw_end(bool whole) {
  ended_ = whole ? "both sides had ended it" : "broken off";
  if (!whole && !broken_why_.empty()) ended_ += " here: " + broken_why_;
}

// The peer sees a reset, so that a short answer cannot pass for a whole one.
void LiveExchange::reset_connection() {
  if (channel_ == nullptr) return;
  ErrorCode ignored;
  transport().socket().set_option(asio::socket_base::linger(true, 0), ignored);
  transport().close();
}

Task<Bytes> LiveExchange::next_piece() {
  if (channel_ == nullptr) co_return gone();
  Bytes piece(
      knows_left() ? static_cast<std::size_t>(std::min<std::uint64_t>(*left_, kPiece)) : kPiece,
      '\0');
  CAY_CO_TRY(const std::size_t got, co_await read_into(piece));
  piece.resize(got);
  co_return piece;
}

Task<std::size_t> LiveExchange::read_into(std::span<char> into) {
  if (channel_ == nullptr || broken_off_) co_return gone();
  if (expects_continue_ && !is_body_over()) {
    CAY_CO_CHECK(co_await send_continue());
  }
  if (knows_left()) {
    auto got = co_await read_known_into(into);
    co_return got;
  }
  while (!parser_.is_done()) {
    auto& body = parser_.get().body();
    body.data = into.data();
    body.size = into.size();
    transport().expires_never();
    auto reading = read_piece();
    auto done = co_await with_deadline<ErrorCode>(std::move(reading), config_.body_limit,
                                                  "the request's body");
    if (!done || *done == asio::error::operation_aborted) co_return body_late();
    ErrorCode error = *done;
    if (error == bhttp::error::need_buffer) error = {};
    if (error) {
      keep_alive_ = false;
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
  transport().expires_never();
  co_return std::size_t{0};
}

Error LiveExchange::body_late() {
  keep_alive_ = false;
  return Error{Code::kDeadlineExceeded, "body_timeout", "the request's body did not arrive in time",
               0};
}

// Beast's parser takes a body through a buffer of its own, some kilobytes at a time. A body of
// known length needs no parser.
bool LiveExchange::knows_left() {
  if (!left_) {
    const auto left = parser_.content_length_remaining();
    if (left && !parser_.chunked()) left_ = parser_.is_done() ? 0 : *left;
  }
  return left_.has_value();
}

Task<std::size_t> LiveExchange::read_known_into(std::span<char> into) {
  if (*left_ < into.size()) into = into.first(static_cast<std::size_t>(*left_));
  if (into.empty()) co_return std::size_t{0};
  std::size_t got = 0;
  if (buffer_.size() > 0) {  // came with the head
    got = asio::buffer_copy(asio::buffer(into.data(), into.size()), buffer_.data());
    buffer_.consume(got);
    *left_ -= got;
  } else {
    transport().expires_never();
    auto reading = read_known(into, got);
    auto done = co_await with_deadline<ErrorCode>(std::move(reading), config_.body_limit,
                                                  "the request's body");
    if (!done || *done == asio::error::operation_aborted) co_return body_late();
    if (*done) {
      keep_alive_ = false;
      co_return broken(*done, "read the request's body");
    }
  }
  co_return got;
}

// Counts the bytes at once. Their reader may be cancelled by then, and the rest of the body shows
// where the next request begins.
Task<ErrorCode> LiveExchange::read_known(std::span<char> into, std::size_t& got) {
  ErrorCode error;
  got = co_await channel_->async_read_some(asio::buffer(into.data(), into.size()), to(error));
  *left_ -= got;
  co_return error;
}

bool LiveExchange::can_splice_body() {
  return channel_ != nullptr && !broken_off_ && channel_->secured() == nullptr &&
         !expects_continue_ && buffer_.size() == 0 && knows_left() && *left_ > 0;
}

Task<KernelPipe> LiveExchange::next_piped_piece() {
  if (channel_ == nullptr || broken_off_) co_return gone();
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(*left_, KernelPipe::kMost));
  transport().expires_never();
  ErrorCode error;
  CAY_CO_TRY(KernelPipe pipe, take_now(transport().socket(), most, error));
  *left_ -= pipe.size();
  if (would_block(error)) {
    pipe = KernelPipe();
    auto taking = take_slowly(error);
    auto done = co_await with_deadline<KernelPipe>(std::move(taking), config_.body_limit,
                                                   "the request's body");
    if (!done || error == asio::error::operation_aborted) co_return body_late();
    pipe = *std::move(done);
  }
  if (!error && pipe.empty()) error = asio::error::eof;
  if (error) {
    keep_alive_ = false;
    co_return broken(error, "read the request's body");
  }
  co_return pipe;
}

Task<KernelPipe> LiveExchange::take_slowly(ErrorCode& error) {
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(*left_, KernelPipe::kMost));
  auto taken = co_await take_from(transport().socket(), most, error);
  if (taken) *left_ -= taken->size();  // at once, as in read_known
  co_return taken;
}

std::unique_ptr<ByteSource> LiveExchange::body() {
  return std::make_unique<BodySource>(shared_from_this());
}

Task<std::string> LiveExchange::read_body(std::size_t limit) {
  const Error too_large{Code::kInvalidArgument, "body_too_large",
                        "the request's body is longer than " + std::to_string(limit) + " bytes", 0};
  const auto length = parser_.content_length();
  if (length && *length > limit) co_return too_large;
  // It may hold a secret, so that what is answered is the only copy, and whoever gives up half-way
  // leaves none.
  const std::size_t first =
      length ? static_cast<std::size_t>(std::min<std::uint64_t>(*length, kPiece)) : kPiece;
  Wiped all(std::string(std::max(first, kNoShort), '\0'));
  std::size_t used = 0;
  while (true) {
    if (used == all.bytes().size() && channel_ != nullptr &&
        !is_body_over()) {  // std::string's own growth would leave what it held where it was
      Wiped wider(std::string(2 * used, '\0'));
      all.bytes().copy(wider.bytes().data(), used);
      all = std::move(wider);
    }
    const std::span<char> rest(all.bytes().data() + used, all.bytes().size() - used);
    CAY_CO_TRY(const std::size_t got, co_await read_into(rest));
    if (got == 0) break;
    used += got;
    if (used > limit) co_return too_large;
  }
  all.bytes().resize(used);
  co_return std::move(all.bytes());
}

asio::awaitable<bool> LiveExchange::drain() {
  if (is_body_over()) co_return true;
  if (expects_continue_) co_return false;
  auto left = left_;
  if (const auto told = parser_.content_length_remaining(); !left && told) left = *told;
  if (left && *left > config_.max_drain) co_return false;
  Wiped unwanted(std::string(kPiece, '\0'));  // of a request that was refused, too
  std::size_t seen = 0;
  while (true) {
    auto got = co_await read_into(unwanted.bytes());
    if (!got) co_return false;
    if (*got == 0) co_return true;
    seen += *got;
    if (seen > config_.max_drain) co_return false;
  }
}

asio::awaitable<void> LiveExchange::respond(Response response) {
  if (channel_ == nullptr || answered_) co_return;
  answered_ = true;
  transport().expires_after(config_.body_limit);
  ErrorCode error;
  const auto status = static_cast<unsigned>(response.status);
  if (head_.method == "HEAD" || bodyless(response.status)) {
    bhttp::response<bhttp::empty_body> message;
    message.result(status);
    fill(message, response.headers);
    if (!bodyless(response.status)) message.content_length(response.body.size());
    bhttp::response_serializer<bhttp::empty_body> writer(message);
    co_await write_head(*channel_, writer, error);
  } else {
    bhttp::response<bhttp::string_body> message;
    message.result(status);
    fill(message, response.headers);
    message.body() = std::move(response.body);
    message.content_length(message.body().size());
    co_await write_message(*channel_, message, error);
  }
  if (error) keep_alive_ = false;
  // A caller that waits for the end of the connection must not wait for a handler that has nobody
  // to answer.
  if (broken_off_ && channel_ != nullptr)
    transport().socket().shutdown(asio::socket_base::shutdown_send, error);
}

asio::awaitable<void> LiveExchange::respond_stream(int status, Headers headers,
                                                   std::optional<std::uint64_t> length,
                                                   std::unique_ptr<ByteSource> bytes) {
  if (channel_ == nullptr || answered_) co_return;
  answered_ = true;
  bhttp::response<bhttp::buffer_body> message;
  message.result(static_cast<unsigned>(status));
  // RFC 9112, 6.1: HTTP/1.0 knows no chunks. There the end of the connection is the end of the
  // body, so one that is cut short is a reset.
  const bool to_end = !length && parser_.get().version() < kHttp11;
  if (to_end) keep_alive_ = false;
  fill(message, headers);
  if (length) {
    message.content_length(*length);
  } else if (!to_end) {
    message.chunked(true);
  }
  auto* piped = dynamic_cast<PipedSource*>(bytes.get());
  const bool head_alone = head_.method == "HEAD";
  // Bytes that are here already go out with the head.
  Bytes first;
  bool whole = false;
  while (piped != nullptr && !head_alone && !whole && first.size() < kMostWithHead) {
    auto come = piped->come();
    if (!come) break;
    whole = come->empty() && (!length || first.size() == *length);
    if (come->empty()) break;
    first += *come;
  }
  message.body().data = first.empty() ? nullptr : first.data();
  message.body().size = first.size();
  message.body().more = !whole;
  bhttp::response_serializer<bhttp::buffer_body> writer(message);
  transport().expires_after(config_.body_limit);
  ErrorCode error;
  if (first.empty() && !whole) {
    co_await write_head(*channel_, writer, error);
  } else {
    co_await write_rest(*channel_, writer, error);
  }
  if (head_alone || whole) {
    if (error) keep_alive_ = false;
    co_return;
  }
  std::uint64_t sent = first.size();
  if (channel_ == nullptr || channel_->secured() != nullptr || !length) piped = nullptr;
  while (!error) {
    if (piped != nullptr && sent < *length && piped->can_splice()) {
      transport().expires_never();
      auto pipe = co_await piped->next_piped();
      if (!pipe) {
        keep_alive_ = false;
        reset_connection();
        co_return;
      }
      if (channel_ == nullptr) co_return;
      sent += pipe->size();
      error = co_await write_piped(*std::move(pipe));
      continue;
    }
    transport().expires_never();  // the source may take its time: a command that is silent
    auto piece = co_await bytes->next();
    // A source that fails, or a length that was not kept: the client must see a broken answer.
    const bool failed = !piece || (piece->empty() && length && sent != *length);
    if (failed) {
      keep_alive_ = false;
      reset_connection();
      co_return;
    }
    if (channel_ == nullptr) co_return;
    sent += piece->size();
    message.body().data = piece->empty() ? nullptr : piece->data();
    message.body().size = piece->size();
    message.body().more = !piece->empty();
    const bool last = piece->empty();
    transport().expires_after(config_.body_limit);
    co_await write_rest(*channel_, writer, error);
    if (last) break;
  }
  if (error) keep_alive_ = false;
}

asio::awaitable<ErrorCode> LiveExchange::write_piped(KernelPipe pipe) {
  ErrorCode error;
  if (give_now(transport().socket(), pipe, error)) {
    const auto loop = co_await asio::this_coro::executor;
    co_await asio::post(loop, asio::use_awaitable);  // others have their turn
    co_return error;
  }
  if (error) co_return error;
  auto rest = write_slowly(pipe);
  auto done = co_await with_deadline<ErrorCode>(std::move(rest), config_.body_limit, "the answer");
  if (done) co_return *done;
  reset_connection();
  co_return asio::error::timed_out;
}

Task<ErrorCode> LiveExchange::write_slowly(KernelPipe& pipe) {
  ErrorCode error;
  co_await give_to(transport().socket(), pipe, error);
  co_return error;
}

Task<std::unique_ptr<WebSocket>> LiveExchange::upgrade(std::size_t max_message) {
  if (channel_ == nullptr || answered_) co_return gone();
  bhttp::request<bhttp::empty_body> request(parser_.get().base());
  if (!beast::websocket::is_upgrade(request) || request["Sec-WebSocket-Version"] != "13" ||
      request["Sec-WebSocket-Key"].empty()) {
    co_return Error{Code::kInvalidArgument, "bad_upgrade",
                    "this is not a WebSocket handshake (RFC 6455)", 0};
  }
  // Every client repeats its request after this answer. Some would take the immediate close of a
  // WebSocket for the end of their work.
  if (ending_) {
    Response refusal{.status = 503, .headers = {}, .body = ""};
    refusal.headers.set("Retry-After", "1");
    co_await respond(std::move(refusal));
    co_return Error{Code::kUnavailable, "shutting_down",
                    "the daemon is ending: try again when it is back", 0};
  }
  answered_ = true;
  upgraded_ = true;
  keep_alive_ = false;
  BeastSocket stream(TolerantTransport(std::move(*channel_)));
  channel_ = nullptr;
  prepare(stream);
  const ErrorCode error = co_await accept_websocket(stream, request);
  if (error)
    co_return Error{Code::kInvalidArgument, "bad_upgrade",
                    "the WebSocket handshake failed: " + error.message(), 0};
  auto core = std::make_shared<SocketCore>(std::move(stream), SocketCore::Side::kServer,
                                           max_message, config_.socket_idle);
  socket_ = core;
  auto on_close = on_socket_(core);
  // The listener's end began while we shook hands: it knew nothing of this socket.
  if (ending_) {
    core->at_daemons_end(kNormal);  // nothing was begun on it
    core->left();
    co_await Socket::end_of(core);
  } else if (broken_off_) {
    co_await Socket::close_of(core, kPolicyViolation, broken_why_);
  }
  std::function<void()> told = [self = weak_from_this(), core = core.get(),
                                on_close = std::move(on_close)] {
    if (const auto exchange = self.lock()) exchange->ended_ = core->how_it_ended();
    if (on_close) on_close();
  };
  co_return std::unique_ptr<WebSocket>(std::make_unique<Socket>(std::move(core), std::move(told)));
}

Task<std::unique_ptr<ByteStream>> LiveExchange::upgrade_raw(Headers headers) {
  if (channel_ == nullptr || answered_) co_return gone();
  // Somebody may be reading the body: the channel must not go from under them.
  if (!is_body_over())
    co_return Error{Code::kInvalidArgument, "bad_upgrade",
                    "a request with a body cannot change its protocol", 0};
  answered_ = true;
  upgraded_ = true;
  keep_alive_ = false;
  bhttp::response<bhttp::empty_body> message(bhttp::status::switching_protocols, 11);
  for (const auto& [name, value] : headers.items()) {
    if (!is_ours(name)) message.insert(name, value);
  }
  message.set(bhttp::field::connection, "Upgrade");
  transport().expires_after(config_.body_limit);
  bhttp::response_serializer<bhttp::empty_body> writer(message);
  ErrorCode error;
  co_await write_head(*channel_, writer, error);
  if (error) co_return broken(error, "answer the client");
  auto channel = std::make_shared<Channel>(std::move(*channel_));
  channel_ = nullptr;
  raw_ = channel;
  if (broken_off_) RawStream::reset(*channel);  // while the answer was written
  auto stream =
      std::make_unique<RawStream>(std::move(channel), beast::buffers_to_string(buffer_.data()));
  stream->on_end([self = weak_from_this()](bool whole) {
    if (const auto exchange = self.lock()) exchange->note_raw_end(whole);
  });
  co_return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace cay::http
