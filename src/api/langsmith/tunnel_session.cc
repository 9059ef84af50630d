#include "api/langsmith/tunnel_session.h"

#include <algorithm>
#include <utility>

#include "async/deadline.h"

namespace cay::api::langsmith {
namespace {

constexpr std::size_t kMostQueued = 256 * 1024;    // to be sent: streams wait
constexpr std::size_t kMostAnswers = 1024 * 1024;  // the same, with answers to the client's own frames: nothing more is read
constexpr std::size_t kMostMessage = 512 * 1024;
constexpr std::size_t kGathered = 64 * 1024;
constexpr std::size_t kRequestBytes = 3;           // version u8 | port u16
constexpr std::uint8_t kVersion = 1;
constexpr Millis kLastWords{5'000};
constexpr int kNormal = 1000;
constexpr int kProtocolError = 1002;

enum Status : char { kOk = 0, kPortNotAllowed = 1, kDialFailed = 2, kUnsupportedVersion = 3 };

Error given_up() { return {Code::kCancelled, "stream_reset", "the client gave the stream up", 0}; }

}  // namespace

TunnelSession::TunnelSession(core::Cay& cay, Principal who, std::string ref, std::unique_ptr<http::WebSocket> socket,
                             asio::any_io_executor executor)
    : cay_(cay), who_(std::move(who)), ref_(std::move(ref)), socket_(std::move(socket)), executor_(std::move(executor)),
      out_changed_(executor_), work_(executor_) {}

asio::awaitable<void> TunnelSession::run() {
  work_.spawn(write_out());
  co_await work_.until(read_in());
  const int code = yamux_.broken() ? kProtocolError : kNormal;
  co_await socket_->close(code, "");
}

asio::awaitable<void> TunnelSession::read_in() {
  for (;;) {
    while (yamux_.out().size() > kMostAnswers) {
      co_await out_changed_.wait();
    }
    auto message = co_await socket_->read();
    if (message.kind == http::WsMessage::Kind::kClosed) co_return;
    const bool fine = yamux_.feed(message.data);
    while (auto event = yamux_.next()) {
      if (event->kind == Yamux::Event::Kind::kGoAway) co_return;
      take(*std::move(event));
    }
    out_changed_.notify();
    if (!fine) break;
  }
  co_await say_all();  // a go-away, after broken rules
}

asio::awaitable<void> TunnelSession::say_all() {
  const auto deadline = deadline_in(kLastWords);
  while (!yamux_.out().empty() || writing_) {
    auto in_time = co_await out_changed_.wait_until(deadline);
    if (!in_time) co_return;
  }
}

void TunnelSession::take(Yamux::Event event) {
  if (event.kind == Yamux::Event::Kind::kOpened) {
    // Streams that were reset are still here until their work is unwound.
    if (flows_.size() >= Yamux::kMostStreams) return yamux_.reset(event.stream);
    auto flow = std::make_shared<Flow>(event.stream, executor_);
    flows_.emplace(event.stream, flow);
    return work_.spawn(serve(std::move(flow)));
  }
  const auto found = flows_.find(event.stream);
  if (found == flows_.end()) return;
  Flow& flow = *found->second;
  switch (event.kind) {
    case Yamux::Event::Kind::kData:
      // Small pieces are gathered: a window's worth of them costs little more than the window.
      if (!flow.inbox.empty() && flow.inbox.back().size() + event.bytes.size() <= kGathered) {
        flow.inbox.back() += event.bytes;
      } else {
        flow.inbox.push_back(std::move(event.bytes));
      }
      break;
    case Yamux::Event::Kind::kFin: flow.fin = true; break;
    case Yamux::Event::Kind::kReset: flow.reset = true; break;
    case Yamux::Event::Kind::kOpened:
    case Yamux::Event::Kind::kWindow:
    case Yamux::Event::Kind::kGoAway: break;
  }
  flow.changed.notify();
}

asio::awaitable<void> TunnelSession::write_out() {
  for (;;) {
    while (yamux_.out().empty()) {
      co_await out_changed_.wait();
    }
    std::string bytes = std::exchange(yamux_.out(), {});
    writing_ = true;
    while (!bytes.empty()) {
      std::string rest = bytes.size() > kMostMessage ? bytes.substr(kMostMessage) : std::string();
      bytes.resize(bytes.size() - rest.size());
      auto sent = co_await socket_->send_binary(std::move(bytes));
      if (!sent) co_return;  // the reading side sees the end
      bytes = std::move(rest);
    }
    writing_ = false;
    out_changed_.notify();
  }
}

asio::awaitable<void> TunnelSession::room() {
  while (yamux_.out().size() >= kMostQueued) {
    co_await out_changed_.wait();
  }
}

asio::awaitable<void> TunnelSession::serve(FlowPtr flow) {
  auto done = co_await converse(flow);
  if (!done) yamux_.reset(flow->id);
  flows_.erase(flow->id);
  out_changed_.notify();
}

Task<std::string> TunnelSession::read_request(FlowPtr flow) {
  std::string request;
  while (request.size() < kRequestBytes) {
    if (flow->reset || (flow->fin && flow->inbox.empty())) co_return given_up();
    if (flow->inbox.empty()) {
      co_await flow->changed.wait();
      continue;
    }
    std::string& first = flow->inbox.front();
    const std::size_t take = std::min(kRequestBytes - request.size(), first.size());
    request += first.substr(0, take);
    first.erase(0, take);
    if (first.empty()) flow->inbox.pop_front();
  }
  yamux_.consumed(flow->id, kRequestBytes);
  co_return request;
}

Task<void> TunnelSession::converse(FlowPtr flow) {
  auto reading = read_request(flow);
  CAY_CO_TRY(const auto request, co_await with_deadline<std::string>(std::move(reading), kHeaderLimit, "the stream's request"));
  const auto byte = [&request](std::size_t i) { return static_cast<std::uint8_t>(request[i]); };
  Status status = kOk;
  std::unique_ptr<core::Tunnel> tunnel;
  if (byte(0) != kVersion) {
    status = kUnsupportedVersion;
  } else {
    const auto port = static_cast<std::uint16_t>(byte(1) << 8 | byte(2));
    auto opened = co_await cay_.tunnels().open(who_, ref_, port);
    if (opened) {
      tunnel = *std::move(opened);
    } else {
      status = opened.error().reason == "invalid_port" ? kPortNotAllowed : kDialFailed;
    }
  }
  if (flow->reset) co_return given_up();
  const char answer = status;
  yamux_.send(flow->id, std::string_view(&answer, 1));
  out_changed_.notify();
  if (!tunnel) {
    yamux_.fin(flow->id);
    co_return Result<void>();
  }
  Scope pumps(executor_);
  pumps.spawn(down(flow, *tunnel));
  auto done = co_await pumps.until(up_and_linger(flow, *tunnel));
  co_return done;
}

Task<void> TunnelSession::up(FlowPtr flow, core::Tunnel& tunnel) {
  for (;;) {
    if (flow->reset) co_return given_up();
    if (flow->inbox.empty()) {
      if (flow->fin) break;
      co_await flow->changed.wait();
      continue;
    }
    std::string bytes = std::move(flow->inbox.front());
    flow->inbox.pop_front();
    const std::size_t size = bytes.size();
    CAY_CO_CHECK(co_await tunnel.write(std::move(bytes)));
    yamux_.consumed(flow->id, size);
    out_changed_.notify();
  }
  auto shut = co_await tunnel.shut_write();
  co_return shut;
}

Task<void> TunnelSession::up_and_linger(FlowPtr flow, core::Tunnel& tunnel) {
  auto written = co_await up(flow, tunnel);
  if (flow->reset) co_return given_up();
  // Also when writing failed: what the program sent before it broke the connection is still to be told.
  static_cast<void>(written);
  auto deadline = deadline_in(kLinger);
  std::uint64_t moved = flow->moved;
  while (!flow->down_over) {
    if (flow->reset) co_return given_up();
    if (std::exchange(moved, flow->moved) != flow->moved) deadline = deadline_in(kLinger);
    auto in_time = co_await flow->changed.wait_until(deadline);
    if (!in_time && moved == flow->moved) {
      co_return Error{Code::kDeadlineExceeded, "tunnel_lingered", "the client ended its side and takes nothing more", 0};
    }
  }
  co_return std::move(flow->down);
}

asio::awaitable<void> TunnelSession::down(FlowPtr flow, core::Tunnel& tunnel) {
  flow->down = co_await pump_down(flow, tunnel);
  flow->down_over = true;
  // A broken connection ends both ways, and the side that waits for the client must see it.
  if (!flow->down) flow->fin = true;
  flow->changed.notify();
}

Task<void> TunnelSession::pump_down(FlowPtr flow, core::Tunnel& tunnel) {
  for (;;) {
    CAY_CO_TRY(const auto bytes, co_await tunnel.read());
    if (bytes.empty()) break;
    for (std::string_view left = bytes; !left.empty();) {
      while (yamux_.sendable(flow->id) == 0) {
        if (flow->reset) co_return given_up();
        co_await flow->changed.wait();
      }
      co_await room();
      const std::string_view piece = left.substr(0, yamux_.sendable(flow->id));
      yamux_.send(flow->id, piece);
      left.remove_prefix(piece.size());
      flow->moved += piece.size();
      out_changed_.notify();
      flow->changed.notify();
    }
  }
  yamux_.fin(flow->id);
  out_changed_.notify();
  co_return Result<void>();
}

}  // namespace cay::api::langsmith
