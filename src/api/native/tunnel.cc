// The WebSocket of one TCP connection into a sandbox. openapi.json describes the frames. Both sides
// are read at all times. Credit holds a sender back, not the socket, so that pings go through while
// a program inside reads nothing for an hour.
#include <boost/asio/this_coro.hpp>
#include <algorithm>
#include <deque>
#include <utility>

#include "api/native/handlers.h"
#include "api/native/request.h"
#include "async/event.h"
#include "async/piped.h"
#include "async/scope.h"
#include "async/until_set.h"
#include "codec/model_json.h"
#include "core/ports/tunnel.h"
#include "core/verbs/tunnels.h"

namespace cay::api::native {
namespace {

using codec::json::object;

constexpr std::uint64_t kWindow = 256 * 1024;  // either side, before it is given credit
constexpr std::uint64_t kGrantStep = kWindow / 4;
constexpr std::int64_t kMostCredit = std::int64_t{1} << 40;
constexpr std::size_t kMaxMessage = kWindow;
constexpr std::size_t kGathered = 64 * 1024;
constexpr int kNormal = 1000;

class TunnelSession {
 public:
  TunnelSession(std::unique_ptr<core::Tunnel> tunnel, std::unique_ptr<http::WebSocket> socket,
                asio::any_io_executor executor)
      : tunnel_(std::move(tunnel)),
        socket_(std::move(socket)),
        executor_(executor),
        changed_(executor),
        over_(executor) {}

  asio::awaitable<void> run() {
    Scope pumps(executor_);
    pumps.spawn(receive());
    pumps.spawn(up());
    pumps.spawn(down());
    co_await pumps.until(finish());
  }

 private:
  // While the socket is still read: a read that is broken off takes the connection with it.
  asio::awaitable<void> finish() {
    co_await over_.wait();
    if (client_gone_) co_return;
    if (failure_) {
      object frame{{"type", "error"}, {"error", codec::to_json(*failure_, note_error(*failure_))}};
      auto told = co_await socket_->send_text(codec::write(frame));
      static_cast<void>(told);  // the close is enough
    }
    co_await socket_->close(kNormal, "");
  }

  asio::awaitable<void> receive() {
    for (;;) {
      auto message = co_await socket_->read();
      if (message.kind == http::WsMessage::Kind::kClosed) {
        client_gone_ = true;
        over_.set();
        co_return;
      }
      auto taken = take(std::move(message));
      if (!taken) co_return fail(std::move(taken).error());
      changed_.notify();
    }
  }

  Result<void> take(http::WsMessage message) {
    if (message.kind == http::WsMessage::Kind::kTooLong) {
      return invalid("tunnel_overrun", message.data + ": send less at once");
    }
    if (message.kind == http::WsMessage::Kind::kBinary) {
      if (client_eof_ || message.data.size() > window_) {
        return invalid("tunnel_overrun", "more bytes than the credit allows, or bytes after eof");
      }
      window_ -= message.data.size();
      // Small pieces are gathered: a window's worth of them costs little more than the window.
      if (!inbox_.empty() && inbox_.back().size() + message.data.size() <= kGathered) {
        inbox_.back() += message.data;
      } else if (!message.data.empty()) {
        inbox_.push_back(std::move(message.data));
      }
      return {};
    }
    CAY_TRY(const auto frame, codec::parse_object(message.data));
    codec::Fields fields(frame);
    std::string type;
    fields.read("type", type);
    std::int64_t bytes = 0;
    if (type == "eof") {
      client_eof_ = true;
    } else if (type == "credit" && fields.read("bytes", bytes, 0, kMostCredit)) {
      credit_ = std::min(static_cast<std::uint64_t>(kMostCredit),
                         credit_ + static_cast<std::uint64_t>(bytes));
    } else {
      return invalid("bad_frame",
                     "text frames are {\"type\":\"credit\",\"bytes\":N} and {\"type\":\"eof\"}");
    }
    return {};
  }

  asio::awaitable<void> up() {
    auto done = co_await pump_up();
    // The other direction reports a broken connection, after the last bytes that came.
    if (done) finished_one();
  }
  Task<void> pump_up() {
    std::uint64_t taken = 0;
    for (;;) {
      if (inbox_.empty()) {
        if (client_eof_) break;
        co_await changed_.wait();
        continue;
      }
      Bytes bytes = std::move(inbox_.front());
      inbox_.pop_front();
      taken += bytes.size();
      CAY_CO_CHECK(co_await tunnel_->write(std::move(bytes)));
      if (taken < kGrantStep) continue;
      window_ += taken;
      object frame{{"type", "credit"}, {"bytes", std::exchange(taken, 0)}};
      CAY_CO_CHECK(co_await socket_->send_text(codec::write(frame)));
    }
    auto shut = co_await tunnel_->shut_write();
    co_return shut;
  }

  asio::awaitable<void> down() {
    auto done = co_await pump_down();
    if (!done && done.error().reason == "socket_closed")
      co_return;  // the reading side sees the end, after what the client had sent
    if (!done) co_return fail(std::move(done).error());
    finished_one();
  }
  Task<void> pump_down() {
    for (;;) {
      CAY_CO_TRY(const auto bytes, co_await tunnel_->read());
      if (bytes.empty()) break;
      for (std::size_t at = 0; at < bytes.size();) {
        while (credit_ == 0) {
          co_await changed_.wait();
        }
        Bytes piece = bytes.substr(
            at, static_cast<std::size_t>(std::min<std::uint64_t>(credit_, bytes.size())));
        at += piece.size();
        credit_ -= piece.size();
        CAY_CO_CHECK(co_await socket_->send_binary(std::move(piece)));
      }
    }
    const object frame{{"type", "eof"}};
    auto told = co_await socket_->send_text(codec::write(frame));
    co_return told;
  }

  void finished_one() {
    if (++finished_ == 2) over_.set();
  }
  void fail(Error error) {
    if (!failure_) failure_ = std::move(error);
    over_.set();
  }

  std::unique_ptr<core::Tunnel> tunnel_;
  std::unique_ptr<http::WebSocket> socket_;
  asio::any_io_executor executor_;
  std::deque<Bytes> inbox_;         // for the program inside
  std::uint64_t window_ = kWindow;  // the client may send
  std::uint64_t credit_ = kWindow;  // the client takes
  bool client_eof_ = false;
  bool client_gone_ = false;
  int finished_ = 0;  // directions whose end the client has
  std::optional<Error> failure_;
  Event changed_;
  Event over_;
};

// "127.0.0.1:4711" also where the kernel writes an IPv4 address into an IPv6 one.
std::string_view plain(std::string_view address) {
  constexpr std::string_view kMapped = "::ffff:";
  return address.starts_with(kMapped) ? address.substr(kMapped.size()) : address;
}

// Bytes with no framing. A proxy in between could take the end of one direction for both, and TLS
// has no such ends. So the client sends its own address, and it has to be the one that is seen
// here.
Result<void> check_direct(const http::RequestHead& head) {
  const auto from = head.headers.get("Cay-Tunnel-From");
  if (!head.retold && head.scheme == "http" && from && !from->empty() &&
      plain(*from) == plain(head.peer))
    return {};
  return invalid(
      "tunnel_not_direct",
      "a tunnel without frames needs a direct connection without TLS, whose own address is sent as "
      "Cay-Tunnel-From: connect with a WebSocket instead");
}

Task<void> tunnel_unframed(core::Cay& cay, ExchangePtr exchange, Principal who, std::string ref,
                           std::uint16_t port) {
  CAY_CO_CHECK(check_direct(exchange->head()));
  CAY_CO_TRY(const auto connection,
             co_await cay.tunnels().open(std::move(who), std::move(ref), port));
  http::Headers headers;
  headers.add("Upgrade", "cay-tunnel");
  CAY_CO_TRY(const auto client, co_await exchange->upgrade_raw(std::move(headers)));
  auto passed = co_await splice(*client, *connection);
  if (!passed) {
    note_error(passed.error());
    auto* kernels = dynamic_cast<PipedStream*>(client.get());
    if (kernels != nullptr) {  // the program's bytes from before it broke off
      co_await kernels->let_arrive();
    }
  }
  co_return Result<void>();  // a break becomes a reset
}

}  // namespace

Task<void> tunnel(core::Cay& cay, ExchangePtr exchange) {
  if (!exchange->head().upgrades()) {
    co_return invalid("upgrade_needed", "this route is a WebSocket: connect with an Upgrade");
  }
  const Principal who = exchange->principal();
  const std::string ref = param(*exchange, "ref");
  CAY_CO_TRY(const auto port, query_number(*exchange, "port", 0, 1, 65535));
  exchange->note_subject("port " + std::to_string(port));
  if (exchange->head().wants_tunnel) {
    auto served =
        co_await tunnel_unframed(cay, exchange, who, ref, static_cast<std::uint16_t>(port));
    co_return served;
  }
  // Before the upgrade: a connection that is refused is an ordinary answer.
  CAY_CO_TRY(auto connection,
             co_await cay.tunnels().open(who, ref, static_cast<std::uint16_t>(port)));
  auto socket = co_await exchange->upgrade(kMaxMessage);
  if (!socket) co_return std::move(socket).error();
  auto executor = co_await asio::this_coro::executor;
  TunnelSession session(std::move(connection), *std::move(socket), executor);
  co_await session.run();
  co_return Result<void>();
}

}  // namespace cay::api::native
