// WsSession: a WebSocket over a Stream, after the handshake.
#include "http/ws_session.h"

#include <boost/asio/this_coro.hpp>
#include <utility>

namespace cay::http {

namespace {
constexpr std::size_t kInboxBytes = 256 * 1024;
constexpr std::size_t kInboxMessages = 256;
constexpr std::size_t kWriteBatch = 64;
constexpr Millis kLinger{1'000};

Error closed_error() {
  return Error{Code::kCancelled, "websocket_closed", "the WebSocket is closed", 0};
}
}  // namespace

WsSession::WsSession(std::shared_ptr<Stream> stream, WsOptions options)
    : stream_(std::move(stream)),
      options_(options),
      parser_(options.role, options.max_message),
      inbox_changed_(stream_->executor()),
      outbox_changed_(stream_->executor()),
      closing_(stream_->executor()),
      done_(stream_->executor()),
      helpers_(stream_->executor()) {}

asio::awaitable<void> WsSession::run() {
  auto self = shared_from_this();  // helpers use members until joined
  helpers_.spawn(write_all());
  helpers_.spawn(keep_alive());
  helpers_.spawn(limit_close());
  std::exception_ptr failure;
  try {
    co_await read_all();
    co_await flush();
    co_await stream_->linger(kLinger);
  } catch (...) {
    failure = std::current_exception();  // cancelled
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  finish(1006, "");
  if (failure) stream_->abort();
  broken_ = true;
  outbox_changed_.notify();
  helpers_.cancel();
  co_await helpers_.join();
  done_.set();
  co_await asio::this_coro::throw_if_cancelled(true);
  if (failure) std::rethrow_exception(failure);
}

// Returns at the end, whose reason is in end_ then.
asio::awaitable<void> WsSession::read_all() {
  for (;;) {
    const auto bytes = stream_->buffered();
    parser_.append(bytes);
    stream_->consume(bytes.size());
    while (auto event = parser_.next()) {
      if (!handle(*std::move(event))) co_return;
      co_await wait_for_space();
    }
    auto got = co_await stream_->fill();
    if (got.error || got.bytes == 0) {
      finish(1006, "the connection broke");
      co_return;
    }
    ++activity_;
  }
}

asio::awaitable<void> WsSession::wait_for_space() {
  for (;;) {
    const bool full = inbox_bytes_ >= kInboxBytes || inbox_.size() >= kInboxMessages;
    if (!full || discard_ || close_sent_) co_return;
    co_await inbox_changed_.wait();
  }
}

bool WsSession::handle(WsEvent event) {
  switch (event.kind) {
    case WsEvent::Kind::kText:
    case WsEvent::Kind::kBinary: {
      if (discard_ || close_sent_) return true;
      const auto kind = event.kind == WsEvent::Kind::kText ? WsMessage::Kind::kText : WsMessage::Kind::kBinary;
      inbox_bytes_ += event.data.size();
      inbox_.push_back(WsMessage{kind, std::move(event.data), 0});
      inbox_changed_.notify();
      return true;
    }
    case WsEvent::Kind::kPing:
      if (!close_sent_) pong_ = std::move(event.data);
      outbox_changed_.notify();
      return true;
    case WsEvent::Kind::kPong: return true;
    case WsEvent::Kind::kClose:
      if (!close_sent_) {
        close_sent_ = true;
        const auto payload = event.code == 1005 ? std::string() : close_payload(event.code, event.data);
        enqueue(WsOpcode::kClose, payload);
      }
      finish(event.code, std::move(event.data));
      return false;
    case WsEvent::Kind::kFault:
      if (!close_sent_) {
        close_sent_ = true;
        enqueue(WsOpcode::kClose, close_payload(event.code, event.data));
      }
      finish(event.code, std::move(event.data));
      return false;
  }
  return false;
}

void WsSession::finish(int code, std::string reason) {
  if (!end_) end_ = WsMessage{WsMessage::Kind::kClosed, std::move(reason), code};
  inbox_changed_.notify();
}

// The close frame must leave before the connection does; a peer that reads nothing is not waited for.
asio::awaitable<void> WsSession::flush() {
  const auto limit = queued_;
  bool in_time = true;
  while (in_time && !broken_ && close_sent_ && written_ < limit) {
    in_time = co_await outbox_changed_.wait_for(options_.close_limit);
  }
}

std::uint64_t WsSession::enqueue(WsOpcode opcode, std::string_view payload) {
  outbox_.push_back({encode_frame(options_.role, opcode, payload), ++queued_});
  outbox_changed_.notify();
  return queued_;
}

asio::awaitable<void> WsSession::write_all() {
  while (!broken_) {
    if (outbox_.empty() && !pong_) {
      co_await outbox_changed_.wait();
      continue;
    }
    std::deque<Outgoing> batch;
    if (pong_) {
      auto payload = *std::exchange(pong_, std::nullopt);
      batch.push_back({encode_frame(options_.role, WsOpcode::kPong, payload), 0});
    }
    while (!outbox_.empty() && batch.size() < kWriteBatch) {
      batch.push_back(std::move(outbox_.front()));
      outbox_.pop_front();
    }
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(batch.size());
    for (const auto& out : batch) buffers.emplace_back(asio::buffer(out.frame));
    auto error = co_await stream_->write_all(buffers);
    ++activity_;
    if (error) {
      broken_ = true;  // reading goes on: what the peer sent before it left still counts
    } else {
      written_ = std::max(written_, batch.back().number);
    }
    outbox_changed_.notify();
  }
}

asio::awaitable<void> WsSession::keep_alive() {
  for (;;) {
    const auto before = activity_;
    auto woken = co_await closing_.wait_for(options_.ping_interval);
    if (woken) co_return;
    if (activity_ != before) continue;
    const auto silence = stream_->millis_since_ack();
    // A reader that is merely slow still acknowledges; a vanished host does not.
    if (silence && Millis(*silence) > options_.dead_after) {
      stream_->abort();
      co_return;
    }
    if (outbox_.empty()) enqueue(WsOpcode::kPing, "");
  }
}

asio::awaitable<void> WsSession::limit_close() {
  co_await closing_.wait();
  auto ended = co_await done_.wait_for(options_.close_limit);
  if (!ended) stream_->close();
}

asio::awaitable<WsMessage> WsSession::read() {
  auto self = shared_from_this();
  while (inbox_.empty() && !end_) {
    co_await inbox_changed_.wait();
  }
  if (inbox_.empty()) co_return *end_;
  auto message = std::move(inbox_.front());
  inbox_.pop_front();
  inbox_bytes_ -= message.data.size();
  inbox_changed_.notify();
  co_return message;
}

Task<void> WsSession::send(WsOpcode opcode, std::string payload) {
  auto self = shared_from_this();
  if (close_sent_ || broken_ || end_) co_return closed_error();
  const auto number = enqueue(opcode, payload);
  payload = std::string();
  while (written_ < number && !broken_ && !done_.is_set()) {
    co_await outbox_changed_.wait();
  }
  if (written_ < number) co_return closed_error();
  co_return Result<void>();
}

void WsSession::start_close(int code, std::string_view reason) {
  if (close_sent_ || end_) return;
  close_sent_ = true;
  enqueue(WsOpcode::kClose, close_payload(code, reason));
  closing_.set();
  inbox_changed_.notify();
}

asio::awaitable<void> WsSession::close(int code, std::string reason) {
  auto self = shared_from_this();
  discard_ = true;
  inbox_.clear();
  start_close(code, reason);
  co_await wait_done();
}

void WsSession::abandon() {
  discard_ = true;
  start_close(1011, "");
  inbox_changed_.notify();
}

asio::awaitable<void> WsSession::wait_done() {
  auto self = shared_from_this();
  co_await done_.wait();
}

namespace {
class Handle final : public WebSocket {
 public:
  explicit Handle(std::shared_ptr<WsSession> session) : session_(std::move(session)) {}
  ~Handle() override { session_->abandon(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  asio::awaitable<WsMessage> read() override { return session_->read(); }
  Task<void> send_text(std::string text) override { return session_->send(WsOpcode::kText, std::move(text)); }
  Task<void> send_binary(Bytes data) override { return session_->send(WsOpcode::kBinary, std::move(data)); }
  asio::awaitable<void> close(int code, std::string reason) override {
    return session_->close(code, std::move(reason));
  }

 private:
  std::shared_ptr<WsSession> session_;
};
}  // namespace

std::unique_ptr<WebSocket> make_websocket(std::shared_ptr<WsSession> session) {
  return std::make_unique<Handle>(std::move(session));
}

}  // namespace cay::http
