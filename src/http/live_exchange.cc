// LiveExchange: a request and its answer on a server's connection.
#include "http/live_exchange.h"

#include <algorithm>
#include <stdexcept>

#include "http/serialize.h"
#include "http/ws_handshake.h"

namespace cay::http {

namespace {

constexpr std::uint64_t kDrainLimit = 64 * 1024;

bool has_no_body(int status) { return status == 204 || status == 304 || status < 200; }

class RequestBody final : public ByteSource {
 public:
  explicit RequestBody(std::shared_ptr<LiveExchange> exchange) : exchange_(std::move(exchange)) {}
  Task<Bytes> next() override { return exchange_->next_piece(); }

 private:
  std::shared_ptr<LiveExchange> exchange_;
};

Error body_too_large(std::size_t limit) {
  return Error{Code::kInvalidArgument, "body_too_large",
               "the request body may have at most " + std::to_string(limit) + " bytes", 0};
}

Error bad_upgrade(std::string message) {
  return Error{Code::kInvalidArgument, "bad_upgrade", std::move(message), 0};
}

}  // namespace

LiveExchange::LiveExchange(ParsedRequest request, std::string peer, Lent lent)
    : request_(std::move(request)),
      lent_(std::move(lent)),
      body_(lent_.stream, request_.framing, BodyReader::Until::kFraming),
      read_timer_(lent_.stream->executor()),
      continue_owed_(request_.expects_continue && !body_.done()) {
  request_.head.peer = std::move(peer);
}

// Once the body is read, nothing but the peer's leaving makes the socket readable (or a pipelined
// request, which hides it). A body that is still coming tells by its own reads.
void LiveExchange::watch_if_read() {
  if (body_.done() && !detached_ && !websocket_) lent_.stream->watch_peer(lent_.peer_gone);
}

Task<Bytes> LiveExchange::next_piece() {
  auto self = shared_from_this();
  if (detached_ || websocket_) {
    co_return Error{Code::kInternal, "exchange_over", "the body was read after its request had ended", 0};
  }
  if (body_.done()) co_return Bytes();
  if (std::exchange(continue_owed_, false) && status_ == 0 && lent_.stream->buffered().empty()) {
    auto sent = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
    static_cast<void>(sent);  // if the peer is gone, reading tells
  }
  limit_read();
  auto piece = co_await body_.next();
  ++reads_;
  read_timer_.cancel();
  if (!piece && read_late_) {
    co_return Error{Code::kDeadlineExceeded, "body_timeout", "the request's body did not arrive in time", 0};
  }
  watch_if_read();
  co_return piece;
}

void LiveExchange::limit_read() {
  const auto number = reads_;
  read_timer_.expires_after(lent_.options->body_timeout);
  read_timer_.async_wait([weak = weak_from_this(), number](ErrorCode error) {
    const auto self = weak.lock();
    if (error || !self || self->detached_ || self->reads_ != number) return;
    self->read_late_ = true;
    self->lent_.stream->cancel();
  });
}

Task<std::string> LiveExchange::read_body(std::size_t limit) {
  auto self = shared_from_this();
  if (body_.remaining().value_or(0) > limit) co_return body_too_large(limit);
  std::string all;
  for (;;) {
    auto piece = co_await next_piece();
    if (!piece) co_return std::move(piece).error();
    if (piece->empty()) co_return all;
    if (piece->size() > limit - all.size()) co_return body_too_large(limit);
    if (all.empty()) {
      all = *std::move(piece);
    } else {
      all.append(*piece);
    }
  }
}

std::unique_ptr<ByteSource> LiveExchange::body() { return std::make_unique<RequestBody>(shared_from_this()); }

bool LiveExchange::may_drain() const {
  if (body_.done()) return true;
  const auto left = body_.remaining();
  return !continue_owed_ && !body_.failed() && left && *left <= kDrainLimit;
}

void LiveExchange::decide_keep_alive() {
  keep_alive_ = request_.keep_alive && !broken_ && !*lent_.closing && may_drain();
}

void LiveExchange::begin_answer(int status) {
  if (detached_) throw std::logic_error("an answer after the request had ended");
  if (status_ != 0) throw std::logic_error("a second answer to one request");
  status_ = status;
}

std::string LiveExchange::answer_head(int status, const Headers& headers) {
  auto head = response_head(status, headers);
  for (const auto& [name, value] : extra_.items()) append_field(head, name, value);
  if (!keep_alive_) {
    append_field(head, "Connection", "close");
  } else if (request_.http10) {
    append_field(head, "Connection", "keep-alive");
  }
  return head;
}

asio::awaitable<bool> LiveExchange::write(std::string_view bytes) {
  auto error = co_await lent_.stream->write(bytes);
  if (error) broken_ = true;
  co_return !error;
}

asio::awaitable<void> LiveExchange::respond(Response response) {
  auto self = shared_from_this();
  begin_answer(response.status);
  decide_keep_alive();
  auto bytes = answer_head(response.status, response.headers);
  if (!has_no_body(response.status)) {
    append_field(bytes, "Content-Length", std::to_string(response.body.size()));
  }
  bytes += "\r\n";
  if (request_.head.method != "HEAD" && !has_no_body(response.status)) bytes += response.body;
  auto sent = co_await write(bytes);
  static_cast<void>(sent);
}

asio::awaitable<void> LiveExchange::respond_stream(int status, Headers headers,
                                                   std::optional<std::uint64_t> length,
                                                   std::unique_ptr<ByteSource> bytes) {
  auto self = shared_from_this();
  begin_answer(status);
  decide_keep_alive();
  const bool chunked = !length && !request_.http10 && !has_no_body(status);
  if (!length && request_.http10) keep_alive_ = false;  // the end of the connection is the end of the body
  auto head = answer_head(status, headers);
  if (length && !has_no_body(status)) append_field(head, "Content-Length", std::to_string(*length));
  if (chunked) append_field(head, "Transfer-Encoding", "chunked");
  head += "\r\n";
  auto sent = co_await write(head);
  if (!sent || request_.head.method == "HEAD" || has_no_body(status)) co_return;
  co_await send_stream(length, chunked, std::move(bytes));
}

asio::awaitable<void> LiveExchange::send_stream(std::optional<std::uint64_t> length, bool chunked,
                                                std::unique_ptr<ByteSource> bytes) {
  std::uint64_t total = 0;
  for (;;) {
    auto piece = co_await bytes->next();
    const bool over = piece && length && piece->size() > *length - total;
    if (!piece || over) {
      broken_ = true;  // the head has promised more than comes: the connection breaks
      co_return;
    }
    if (piece->empty()) break;
    total += piece->size();
    std::vector<asio::const_buffer> buffers;
    const auto size_line = chunked ? chunk_head(piece->size()) : std::string();
    if (chunked) buffers.emplace_back(asio::buffer(size_line));
    buffers.emplace_back(asio::buffer(*piece));
    if (chunked) buffers.emplace_back(asio::const_buffer("\r\n", 2));
    auto error = co_await lent_.stream->write_all(buffers);
    if (error) {
      broken_ = true;
      co_return;
    }
  }
  if (length && total != *length) broken_ = true;
  if (!chunked) co_return;
  auto sent = co_await write(kLastChunk);
  static_cast<void>(sent);
}

Task<std::unique_ptr<WebSocket>> LiveExchange::upgrade(std::size_t max_message) {
  auto self = shared_from_this();
  const auto& headers = request_.head.headers;
  const auto key = headers.get("Sec-WebSocket-Key");
  if (!request_.head.wants_websocket || request_.head.method != "GET" || request_.http10) {
    co_return bad_upgrade("this path speaks WebSocket: send GET with Upgrade: websocket");
  }
  if (headers.get("Sec-WebSocket-Version").value_or("") != "13") {
    co_return bad_upgrade("only version 13 of WebSocket is spoken here");
  }
  if (!key || !is_websocket_key(*key)) co_return bad_upgrade("Sec-WebSocket-Key is missing or malformed");
  if (!body_.done()) co_return bad_upgrade("a WebSocket request has no body");
  begin_answer(101);
  lent_.stream->unwatch();
  Headers answer;
  answer.add("Upgrade", "websocket");
  answer.add("Sec-WebSocket-Accept", accept_key(*key));
  auto head = response_head(101, answer);
  for (const auto& [name, value] : extra_.items()) append_field(head, name, value);
  append_field(head, "Connection", "Upgrade");
  head += "\r\n";
  auto sent = co_await write(head);
  if (!sent) {
    co_return Error{Code::kCancelled, "connection_lost", "the peer left during the WebSocket handshake", 0};
  }
  WsOptions options;
  options.role = WsRole::kServer;
  options.max_message = max_message;
  options.ping_interval = lent_.options->ping_interval;
  options.close_limit = lent_.options->ws_close_limit;
  websocket_ = std::make_shared<WsSession>(lent_.stream, options);
  lent_.scope->spawn(websocket_->run());
  if (*lent_.closing) websocket_->start_close(1001, "the server is shutting down");
  co_return make_websocket(websocket_);
}

void LiveExchange::detach() { detached_ = true; }

}  // namespace cay::http
