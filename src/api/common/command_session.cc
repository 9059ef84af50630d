#include "api/common/command_session.h"

#include "async/deadline.h"
#include "async/scope.h"

namespace cay::api {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFeedFrames = 8;
constexpr Millis kFirstFrame = 30s;
constexpr Millis kLastFeed = 5s;  // for stdin that a client sent just before it went
constexpr int kNormal = 1000;

Task<http::WsMessage> read_task(http::WebSocket& socket) {
  auto message = co_await socket.read();
  co_return message;
}

}  // namespace

CommandSession::CommandSession(core::Cay& cay, Principal who, std::string ref,
                               std::unique_ptr<http::WebSocket> socket, asio::any_io_executor executor)
    : cay_(cay),
      who_(std::move(who)),
      ref_(std::move(ref)),
      socket_(std::move(socket)),
      executor_(executor),
      feed_(executor, kFeedFrames),
      fed_(executor) {}

asio::awaitable<void> CommandSession::run() {
  auto reading = read_task(*socket_);
  auto first = co_await with_deadline<http::WsMessage>(std::move(reading), kFirstFrame, "the first frame");
  if (!first) {
    co_await end_with(std::move(first).error());
    co_return;
  }
  if (first->kind == http::WsMessage::Kind::kClosed) co_return;
  auto reader = co_await open(*std::move(first));
  if (!reader) {
    co_await end_with(std::move(reader).error());
    co_return;
  }
  reader_ = *std::move(reader);
  id_ = reader_->command().id;
  auto told = co_await started(reader_->command());
  static_cast<void>(told);  // a client that is gone may have left frames to obey
  Scope children(executor_);
  children.spawn(pump());
  children.spawn(feeder());
  co_await children.until(control());
}

asio::awaitable<void> CommandSession::end_with(Error error) {
  auto told = co_await failed(std::move(error));
  static_cast<void>(told);
  co_await socket_->close(kNormal, "");
}

// Ends the session by closing the socket: control then reads kClosed.
asio::awaitable<void> CommandSession::pump() {
  for (;;) {
    auto event = co_await reader_->next();
    if (!event) {
      co_await end_with(std::move(event).error());
      co_return;
    }
    const bool last = std::holds_alternative<core::OutputEnd>(*event);
    auto sent = co_await output(*std::move(event));
    if (!sent) co_return;  // the client is gone; control sees it too
    if (last) break;
  }
  co_await socket_->close(kNormal, "");
}

asio::awaitable<void> CommandSession::feeder() {
  for (;;) {
    auto next = co_await feed_.pop();
    if (!next) break;
    if (next->end) {
      auto closed = co_await cay_.commands().close_stdin(who_, ref_, id_);
      if (closed) continue;
      auto told = co_await stdin_refused(std::move(closed).error());
      static_cast<void>(told);
    } else {
      auto written = co_await cay_.commands().write_stdin(who_, ref_, id_, std::move(next->bytes));
      if (written) continue;
      auto told = co_await stdin_refused(std::move(written).error());
      static_cast<void>(told);
    }
  }
  fed_.set();
}

asio::awaitable<void> CommandSession::control() {
  for (;;) {
    auto got = co_await socket_->read();
    if (got.kind == http::WsMessage::Kind::kClosed) break;
    auto obeyed = co_await message(std::move(got));
    if (!obeyed) {
      auto told = co_await failed(std::move(obeyed).error());
      static_cast<void>(told);
      co_await socket_->close(kNormal, "");
      break;
    }
  }
  feed_.close();
  auto in_time = co_await fed_.wait_for(kLastFeed);
  static_cast<void>(in_time);
}

asio::awaitable<void> CommandSession::feed(Bytes bytes) {
  Feed item;
  item.bytes = std::move(bytes);
  auto pushed = co_await feed_.push(std::move(item));
  static_cast<void>(pushed);
}

asio::awaitable<void> CommandSession::feed_end() {
  Feed item;
  item.end = true;
  auto pushed = co_await feed_.push(std::move(item));
  static_cast<void>(pushed);
}

Task<void> CommandSession::kill(int signal) {
  auto killed = co_await cay_.commands().kill(who_, ref_, id_, signal);
  co_return killed;
}

Task<void> CommandSession::resize(PtySize size) {
  auto resized = co_await cay_.commands().resize(who_, ref_, id_, size);
  co_return resized;
}

}  // namespace cay::api
