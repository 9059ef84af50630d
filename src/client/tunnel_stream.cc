#include "client/tunnel_stream.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "async/event.h"
#include "client/json_read.h"
#include "client/socket_end.h"

namespace cay::client {
namespace {

constexpr std::uint64_t kWindow =
    256 * 1024;  // either side, before it is given credit (openapi.json)
constexpr std::uint64_t kGrantStep = kWindow / 4;
constexpr std::uint64_t kMostCredit = std::uint64_t{1} << 40;
constexpr Millis kPartLimit{5'000};
constexpr std::size_t kPiece = 64 * 1024;

}  // namespace

struct TunnelStream::State {
  explicit State(const asio::any_io_executor& executor) : changed(executor) {}
  std::unique_ptr<http::WebSocket> socket;
  std::deque<std::string> inbox;
  std::uint64_t owed = 0;          // read, and not granted again yet
  std::uint64_t credit = kWindow;  // the daemon takes
  bool ended = false;              // the program inside sends no more
  bool shut = false;               // and we do not
  bool closed = false;
  std::optional<Error> broken;
  Event changed;

  void take(const http::WsMessage& message) {
    if (message.kind == http::WsMessage::Kind::kBinary) {
      if (!message.data.empty()) inbox.push_back(message.data);
      return;
    }
    const auto frame = codec::parse_object(message.data);
    if (!frame) return;  // a frame of a later version
    const std::string type = string_in(*frame, "type");
    if (type == "credit") credit += std::min(number_in(*frame, "bytes"), kMostCredit);
    if (type == "eof") ended = true;
    const auto* inner = type == "error" ? frame->if_contains("error") : nullptr;
    if (inner != nullptr && inner->is_object())
      broken = error_from_json(inner->get_object(), Code::kInternal);
  }
};

TunnelStream::TunnelStream(std::shared_ptr<State> state)
    : state_(std::move(state)), receiver_(state_->changed.executor()) {
  receiver_.spawn(receive(state_));
}

TunnelStream::~TunnelStream() = default;

Task<std::unique_ptr<TunnelStream>> TunnelStream::open(Connection& connection, std::string ref,
                                                       std::uint16_t port) {
  auto state = std::make_shared<State>(connection.executor());
  CAY_CO_TRY(state->socket, co_await connection.websocket(
                                sandbox_target(ref, "/tunnel?port=" + std::to_string(port))));
  co_return std::unique_ptr<TunnelStream>(new TunnelStream(std::move(state)));
}

asio::awaitable<void> TunnelStream::receive(std::shared_ptr<State> state) {
  for (;;) {
    const auto message = co_await state->socket->read();
    if (message.kind == http::WsMessage::Kind::kClosed) {
      if (!state->broken && !(state->ended && state->shut)) state->broken = error_of_end(message);
      break;
    }
    state->take(message);
    state->changed.notify();
  }
  state->closed = true;
  state->changed.notify();
}

asio::awaitable<void> TunnelStream::part() {
  auto state = state_;
  const auto deadline = deadline_in(kPartLimit);
  while (!state->closed) {
    auto in_time = co_await state->changed.wait_until(deadline);
    if (!in_time) co_return;
  }
}

Task<std::string> TunnelStream::read() {
  auto state = state_;
  if (state->owed >= kGrantStep && !state->ended) {
    const json::object frame{{"type", "credit"}, {"bytes", std::exchange(state->owed, 0)}};
    std::string text = codec::write(frame);
    auto granted = co_await state->socket->send_text(std::move(text));
    static_cast<void>(granted);  // the reading side reports a broken connection
  }
  while (state->inbox.empty() && !state->ended && !state->broken) {
    co_await state->changed.wait();
  }
  if (!state->inbox.empty()) {
    std::string bytes = std::move(state->inbox.front());
    state->inbox.pop_front();
    state->owed += bytes.size();
    co_return bytes;
  }
  if (state->ended) co_return std::string();
  co_return *state->broken;
}

Task<void> TunnelStream::write(std::string bytes) {
  auto state = state_;
  for (std::size_t at = 0; at < bytes.size();) {
    while (state->credit == 0 && !state->broken) {
      co_await state->changed.wait();
    }
    if (state->broken) co_return *state->broken;
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(state->credit, kPiece));
    std::string piece = bytes.substr(at, most);
    at += piece.size();
    state->credit -= piece.size();
    auto sent = co_await state->socket->send_binary(std::move(piece));
    if (!sent) co_return state->broken ? *state->broken : std::move(sent).error();
  }
  co_return Result<void>();
}

Task<void> TunnelStream::shut_write() {
  auto state = state_;
  if (std::exchange(state->shut, true)) co_return Result<void>();
  auto told = co_await state->socket->send_text(R"({"type":"eof"})");
  co_return told;
}

}  // namespace cay::client
