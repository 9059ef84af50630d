// Connection: one client of a Server.
#include "http/connection.h"

#include <spdlog/spdlog.h>

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"
#include "http/router.h"
#include "http/serialize.h"
#include "http/text.h"

namespace cay::http {

namespace {

constexpr Millis kDrainTime{2'000};

std::string describe(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

std::string_view path_of(const RequestHead& head) {
  // A query may hold a token: it is never logged.
  return std::string_view(head.target).substr(0, head.target.find('?'));
}

}  // namespace

Connection::Connection(std::shared_ptr<Stream> stream, std::string peer,
                       std::shared_ptr<const ServerOptions> options,
                       std::shared_ptr<const ServerHandler> handler)
    : stream_(std::move(stream)),
      peer_(std::move(peer)),
      options_(std::move(options)),
      handler_(std::move(handler)),
      scope_(stream_->executor()),
      timer_(stream_->executor()) {}

asio::awaitable<void> Connection::run() {
  auto self = shared_from_this();
  auto after = After::kNext;
  std::exception_ptr failure;
  try {
    while (after == After::kNext) {
      after = co_await serve_next();
    }
    if (after == After::kLinger) {
      co_await stream_->linger(options_->linger);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  disarm();
  current_.reset();
  if (after == After::kAbort || failure) {
    stream_->abort();
  } else {
    stream_->close();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  scope_.cancel();
  co_await scope_.join();
  if (failure && !is_cancellation(failure)) std::rethrow_exception(failure);
}

void Connection::start_shutdown() {
  closing_ = true;
  if (idle_) {
    stream_->close();
  } else if (current_ && current_->websocket()) {
    current_->websocket()->start_close(1001, "the server is shutting down");
  }
}

void Connection::cancel() { signal_.emit(asio::cancellation_type::terminal); }

void Connection::arm(Millis limit) {
  const auto number = ++armed_;
  timed_out_ = false;
  timer_.expires_after(limit);
  timer_.async_wait([weak = weak_from_this(), number](ErrorCode error) {
    const auto self = weak.lock();
    if (error || !self || self->armed_ != number) return;
    self->timed_out_ = true;
    self->stream_->cancel();
  });
}

void Connection::disarm() {
  ++armed_;
  timer_.cancel();
}

// Size of the head that is buffered; 0: more must come, or refusal_ is set.
std::size_t Connection::scan_head() {
  const auto bytes = stream_->buffered();
  const auto lf = bytes.find('\n');
  if (!bytes.empty() && !is_token(bytes.substr(0, 1)) && bytes.front() != '\r') {
    refusal_ = BadHead{400, "this port speaks plain HTTP/1.1"};
    return 0;
  }
  if (lf != std::string_view::npos && (lf == 0 || bytes[lf - 1] != '\r')) {
    refusal_ = BadHead{400, "the request line does not end with CRLF"};
    return 0;
  }
  const auto size = find_head_end(bytes);
  if (size > options_->max_head || (size == 0 && bytes.size() > options_->max_head)) {
    const int status = lf > options_->max_head ? 414 : 431;  // npos too
    refusal_ = BadHead{status, "the request's head may have at most " + std::to_string(options_->max_head) + " bytes"};
    return 0;
  }
  return size;
}

asio::awaitable<bool> Connection::read_head() {
  refusal_.reset();
  if (stream_->buffered().starts_with("\r\n")) stream_->consume(2);  // RFC 9112, 2.2
  idle_ = stream_->buffered().empty();
  arm(idle_ && !first_ ? options_->idle_timeout : options_->head_timeout);
  for (;;) {
    head_size_ = scan_head();
    if (head_size_ > 0 || refusal_) break;
    auto got = co_await stream_->fill();
    if (timed_out_ && !idle_) refusal_ = BadHead{408, "the request's head took too long"};
    if (got.error || got.bytes == 0) break;
    if (std::exchange(idle_, false) && !first_) arm(options_->head_timeout);
    if (stream_->buffered().starts_with("\r\n")) stream_->consume(2);
  }
  idle_ = false;
  first_ = false;
  disarm();
  co_return head_size_ > 0;
}

asio::awaitable<Connection::After> Connection::refuse(BadHead bad) {
  const RequestHead none;
  const Error error{Code::kInvalidArgument, bad.status == 408 ? "request_timeout" : "bad_request", bad.message, 0};
  auto response = options_->shape ? options_->shape(none, bad.status, error) : Router().shape(none, bad.status, error);
  auto bytes = response_head(bad.status, response.headers);
  append_field(bytes, "Content-Length", std::to_string(response.body.size()));
  append_field(bytes, "Connection", "close");
  bytes += "\r\n" + response.body;
  auto sent = co_await stream_->write(bytes);
  if (sent) co_return After::kAbort;
  co_return After::kLinger;
}

asio::awaitable<Connection::After> Connection::serve_next() {
  auto complete = co_await read_head();
  if (!complete) {
    if (!refusal_) co_return After::kClosed;
    auto refused = co_await refuse(*refusal_);
    co_return refused;
  }
  auto parsed = parse_request_head(stream_->buffered().substr(0, head_size_));
  stream_->consume(head_size_);
  if (auto* bad = std::get_if<BadHead>(&parsed)) {
    auto refused = co_await refuse(*bad);
    co_return refused;
  }
  auto after = co_await handle(std::move(std::get<ParsedRequest>(parsed)));
  co_return after;
}

void Connection::report(const RequestHead& head, const std::exception_ptr& failure) {
  const auto text = head.method + " " + std::string(path_of(head)) + ": " + describe(failure);
  if (options_->log) {
    options_->log(text);
  } else {
    spdlog::error("{}", text);
  }
}

asio::awaitable<Connection::After> Connection::handle(ParsedRequest request) {
  LiveExchange::Lent lent;
  lent.stream = stream_;
  lent.peer_gone = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->cancel();
  };
  lent.scope = &scope_;
  lent.options = options_.get();
  lent.closing = &closing_;
  auto exchange = std::make_shared<LiveExchange>(std::move(request), peer_, std::move(lent));
  current_ = exchange;
  exchange->watch_if_read();
  std::exception_ptr failure;
  try {
    co_await (*handler_)(exchange);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await throw_if_cancelled();  // the peer left, or the server must end
  const bool begun = exchange->status() != 0;
  if (failure) {
    report(exchange->head(), failure);
    if (begun && !exchange->websocket()) co_return After::kAbort;
  }
  if (!begun) {
    const Error error{Code::kInternal, "internal", failure ? "the request failed inside Cay; see the daemon's log"
                                                           : "the request was not answered", 0};
    auto response = options_->shape ? options_->shape(exchange->head(), 500, error)
                                    : Router().shape(exchange->head(), 500, error);
    co_await exchange->respond(std::move(response));
  }
  auto after = co_await finish(exchange);
  exchange->detach();
  current_.reset();
  co_return after;
}

asio::awaitable<void> Connection::drain(std::shared_ptr<LiveExchange> exchange) {
  for (;;) {
    auto piece = co_await exchange->next_piece();
    if (!piece || piece->empty()) co_return;
  }
}

asio::awaitable<Connection::After> Connection::finish(std::shared_ptr<LiveExchange> exchange) {
  if (exchange->websocket()) {
    co_await exchange->websocket()->wait_done();
    co_return After::kClosed;
  }
  if (exchange->broken()) co_return After::kAbort;
  // All was read and nothing waits: closing cannot turn into a reset that destroys the answer.
  const bool clean = exchange->body_done();
  stream_->unwatch();
  if (!exchange->keep_alive()) co_return clean && stream_->is_quiet() ? After::kClosed : After::kLinger;
  if (!exchange->body_done()) {
    auto in_time = co_await detail::run_until(drain(exchange), kDrainTime);
    if (!in_time || !exchange->body_done()) co_return After::kAbort;
  }
  co_return closing_ ? After::kLinger : After::kNext;
}

}  // namespace cay::http
