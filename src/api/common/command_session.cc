#include "api/common/command_session.h"

#include "api/common/answer.h"
#include "api/common/stdin_write.h"
#include "async/deadline.h"
#include "async/scope.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"
#include "core/verbs/events.h"

namespace cay::api {
namespace {

using namespace std::chrono_literals;

constexpr Millis kFirstFrame = 30s;
constexpr Millis kLastFeed = 5s;  // for stdin that waits when the daemon ends
constexpr int kNormal = 1000;

Task<http::WsMessage> read_task(http::WebSocket& socket) {
  auto message = co_await socket.read();
  co_return message;
}

}  // namespace

CommandSession::CommandSession(core::Cay& cay, Principal who, SandboxId sandbox,
                               std::unique_ptr<http::WebSocket> socket,
                               std::shared_ptr<InputRoom> room, asio::any_io_executor executor)
    : cay_(cay),
      who_(std::move(who)),
      ref_(sandbox.get()),
      socket_(std::move(socket)),
      executor_(executor),
      feed_(std::move(room), executor),
      fed_(executor) {}

asio::awaitable<void> CommandSession::run() {
  auto reading = read_task(*socket_);
  auto first =
      co_await with_deadline<http::WsMessage>(std::move(reading), kFirstFrame, "the first frame");
  if (!first) {
    co_await end_with(std::move(first).error());
    co_return;
  }
  if (first->kind == http::WsMessage::Kind::kClosed) co_return;
  if (first->kind == http::WsMessage::Kind::kTooLong) {
    co_await refuse_long(std::move(first->data));
    co_return;
  }
  auto reader = co_await open(*std::move(first));
  if (!reader) {
    co_await end_with(std::move(reader).error());
    co_return;
  }
  reader_ = *std::move(reader);
  id_ = reader_->command().id;
  if (on_command) on_command(id_);
  auto told = co_await started(reader_->command());
  static_cast<void>(told);  // a client that is gone may have left frames to obey
  Scope feeding(executor_);
  feeding.spawn(feeder());
  co_await feeding.until(converse());
}

asio::awaitable<void> CommandSession::converse() {
  {
    Scope children(executor_);
    children.spawn(pump());
    co_await children.until(control());
  }
  gone_ = true;
  reader_.reset();  // from now on the command has one reader less: kill_on_disconnect, the idle
                    // timeout
  feed_.close();
  Scope watching(executor_);
  watching.spawn(daemon_ends());
  // A client that sent its input and went has sent it: it is written for as long as the command
  // runs.
  auto fed = fed_.wait();
  co_await watching.until(std::move(fed));
}

asio::awaitable<void> CommandSession::daemon_ends() {
  co_await cay_.events().until_ended();
  co_await sleep_for(kLastFeed);
  fed_.set();
}

asio::awaitable<void> CommandSession::end_with(Error error) {
  auto told = co_await failed(std::move(error));
  static_cast<void>(told);
  co_await socket_->close(kNormal, "");
}

asio::awaitable<void> CommandSession::refuse_long(std::string why) {
  Error error{Code::kInvalidArgument, "body_too_large",
              why + ": upload what is longer as a file, and name the file", 0};
  auto told = co_await failed(std::move(error));
  static_cast<void>(told);
  co_await socket_->close(http::WebSocket::kTooLongCode, std::move(why));
}

// Ends the session by closing the socket: control then reads kClosed.
asio::awaitable<void> CommandSession::pump() {
  for (;;) {
    auto event = co_await reader_->next();
    if (!event) {
      feed_.drop();
      co_await end_with(std::move(event).error());
      co_return;
    }
    const bool last = std::holds_alternative<core::OutputEnd>(*event);
    if (last) feed_.drop();
    auto sent = co_await output(*std::move(event));
    if (!sent) co_return;  // the client is gone; control sees it too
    if (last) break;
  }
  co_await socket_->close(kNormal, "");
}

asio::awaitable<void> CommandSession::feeder() {
  for (;;) {
    auto fed = co_await feed_.run(cay_, who_, ref_, id_);
    if (fed) break;
    if (stdin_is_over(fed.error())) {
      if (gone_) break;
      auto told = co_await stdin_refused(std::move(fed).error());
      static_cast<void>(told);
      continue;
    }
    feed_.drop();
    auto killed = co_await kill_for_lost_input(cay_, who_, ref_, id_, std::move(fed).error());
    if (gone_) {
      note_error(killed.error());  // nobody else hears of it
    } else {
      co_await end_with(std::move(killed).error());
    }
    break;
  }
  fed_.set();
}

asio::awaitable<void> CommandSession::control() {
  for (;;) {
    auto got = co_await socket_->read();
    if (got.kind == http::WsMessage::Kind::kClosed) break;
    if (got.kind == http::WsMessage::Kind::kTooLong) {
      co_await refuse_long(std::move(got.data));
      break;
    }
    auto obeyed = co_await message(std::move(got));
    if (!obeyed) {
      auto told = co_await failed(std::move(obeyed).error());
      static_cast<void>(told);
      co_await socket_->close(kNormal, "");
      break;
    }
  }
}

asio::awaitable<void> CommandSession::feed(Bytes bytes) { co_await feed_.push(std::move(bytes)); }

void CommandSession::feed_end() { feed_.push_end(); }

Task<void> CommandSession::kill(int signal) {
  auto killed = co_await cay_.commands().kill(who_, ref_, id_, signal);
  co_return killed;
}

Task<void> CommandSession::resize(PtySize size) {
  auto resized = co_await cay_.commands().resize(who_, ref_, id_, size);
  co_return resized;
}

}  // namespace cay::api
