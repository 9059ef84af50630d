#include "api/langsmith/tunnel_session.h"

#include <algorithm>
#include <utility>

#include "async/deadline.h"
#include "core/ports/tunnel.h"
#include "core/verbs/tunnels.h"

namespace cay::api::langsmith {
namespace {

constexpr std::size_t kMostQueued = 256 * 1024;  // to be sent: streams wait
constexpr std::size_t kMostAnswers =
    1024 * 1024;  // the same, with answers to the client's own frames: nothing more is read
constexpr std::size_t kMostMessage = 512 * 1024;
constexpr std::size_t kMostPayload = 256 * 1024;  // of one frame that stays in the kernel
constexpr std::size_t kSmallBuffer = 4 * 1024;    // for a client that sends little
constexpr std::size_t kLargeBuffer = 256 * 1024;
constexpr int kMostSmall = 64;
constexpr std::size_t kGathered = 64 * 1024;
constexpr std::size_t kRequestBytes = 3;  // version u8 | port u16
constexpr std::uint8_t kVersion = 1;
constexpr Millis kLastWords{5'000};
constexpr int kNormal = 1000;
constexpr int kProtocolError = 1002;

enum Status : char { kOk = 0, kPortNotAllowed = 1, kDialFailed = 2, kUnsupportedVersion = 3 };

// No longer than the connection itself.
class Direct {
 public:
  Direct(DirectWrite*& place, core::Tunnel& tunnel) : place_(place) {
    place_ = dynamic_cast<DirectWrite*>(&tunnel);
  }
  Direct(const Direct&) = delete;
  Direct& operator=(const Direct&) = delete;
  ~Direct() { place_ = nullptr; }

 private:
  DirectWrite*& place_;
};

Error given_up() { return {Code::kCancelled, "stream_reset", "the client gave the stream up", 0}; }

}  // namespace

TunnelSession::TunnelSession(core::Cay& cay, Principal who, std::string ref,
                             std::unique_ptr<http::WebSocket> socket,
                             asio::any_io_executor executor)
    : cay_(cay),
      who_(std::move(who)),
      ref_(std::move(ref)),
      socket_(std::move(socket)),
      piped_(dynamic_cast<http::PipedSocket*>(socket_.get())),
      executor_(executor),
      to_say_(executor),
      said_(executor),
      work_(executor) {}

asio::awaitable<void> TunnelSession::run() {
  work_.spawn(write_out());
  co_await work_.until(read_in());
  const int code = yamux_.broken() ? kProtocolError : kNormal;
  co_await socket_->close(code, "");
}

asio::awaitable<void> TunnelSession::read_in() {
  for (;;) {
    while (!mute_ && yamux_.out().size() > kMostAnswers) {
      co_await said_.wait();
    }
    if (yamux_.out().size() > kMostAnswers) co_return;
    auto goes_on = co_await feed_some();
    if (!goes_on) co_return;
    while (const auto event = yamux_.next()) {
      if (event->kind == Yamux::Event::Kind::kGoAway) co_return;
      take(*event);
    }
    if (!yamux_.out().empty()) to_say_.notify();
    if (yamux_.broken()) break;
  }
  co_await say_all();  // a go-away, after broken rules
}

// Feeds the client's next bytes to yamux_, whose events refer to buffer_. False: the client has
// gone.
asio::awaitable<bool> TunnelSession::feed_some() {
  if (piped_ == nullptr) {
    auto message = co_await socket_->read();
    if (message.kind == http::WsMessage::Kind::kClosed) co_return false;
    if (message.kind == http::WsMessage::Kind::kTooLong) {
      co_await socket_->close(http::WebSocket::kTooLongCode, std::move(message.data));
      co_return false;
    }
    buffer_ = std::move(message.data);
    yamux_.feed(buffer_);
    co_return true;
  }
  fit_buffer();
  const auto got = co_await piped_->read_some(buffer_);
  if (!got) co_return false;
  read_ = *got;
  yamux_.feed(std::string_view(buffer_).substr(0, *got));
  co_return true;
}

// Many sessions are open and send nothing: only one that fills its buffer gets a large one, for as
// long as it needs it.
void TunnelSession::fit_buffer() {
  small_in_a_row_ = read_ < kSmallBuffer ? std::min(small_in_a_row_ + 1, kMostSmall) : 0;
  if (buffer_.empty() || (buffer_.size() > kSmallBuffer && small_in_a_row_ == kMostSmall)) {
    buffer_ = std::string(kSmallBuffer, '\0');
  } else if (read_ == buffer_.size()) {
    buffer_.resize(kLargeBuffer);
  }
}

asio::awaitable<void> TunnelSession::say_all() {
  const auto deadline = deadline_in(kLastWords);
  while (!all_said() || writing_) {
    auto in_time = co_await said_.wait_until(deadline);
    if (!in_time) co_return;
  }
}

void TunnelSession::take(const Yamux::Event& event) {
  if (event.kind == Yamux::Event::Kind::kOpened) {
    // Streams that were reset are still here until their work is unwound.
    if (flows_.size() >= YamuxStreams::kMost) return yamux_.reset(event.stream);
    auto flow = std::make_shared<Flow>(event.stream, executor_);
    flows_.emplace(event.stream, flow);
    return work_.spawn(serve(std::move(flow)));
  }
  const auto found = flows_.find(event.stream);
  if (found == flows_.end()) return;
  Flow& flow = *found->second;
  switch (event.kind) {
    case Yamux::Event::Kind::kData: return take_data(flow, event.bytes);
    case Yamux::Event::Kind::kWindow: return flow.credited.notify();
    case Yamux::Event::Kind::kFin: flow.fin = true; return flow.changed.notify();
    case Yamux::Event::Kind::kReset:
      flow.reset = true;
      flow.changed.notify();
      return flow.credited.notify();
    case Yamux::Event::Kind::kOpened:
    case Yamux::Event::Kind::kGoAway: return;
  }
}

void TunnelSession::take_data(Flow& flow, std::string_view bytes) {
  if (flow.direct != nullptr && flow.inbox.empty() && !flow.writing) {
    const std::size_t gone = flow.direct->write_now(bytes);
    yamux_.consumed(flow.id, gone);
    bytes.remove_prefix(gone);
  }
  if (bytes.empty()) return;
  // Small pieces are gathered: a window's worth of them costs little more than the window.
  if (!flow.inbox.empty() && flow.inbox.back().size() + bytes.size() <= kGathered) {
    flow.inbox.back() += bytes;
  } else {
    flow.inbox.emplace_back(bytes);
  }
  flow.changed.notify();
}

asio::awaitable<void> TunnelSession::write_out() {
  for (;;) {
    while (all_said()) {
      co_await to_say_.wait();
    }
    Outgoing next;
    if (outgoing_.empty()) {
      next.bytes = std::exchange(yamux_.out(), {});
    } else {
      next = std::move(outgoing_.front());
      outgoing_.pop_front();
      queued_ -= next.bytes.size() + next.payload.size();
    }
    writing_ = true;
    auto sent = co_await send(std::move(next));
    if (!sent) {  // the reading side sees the end
      mute_ = true;
      said_.notify();
      co_return;
    }
    writing_ = false;
    said_.notify();
  }
}

Task<void> TunnelSession::send(Outgoing next) {
  if (!next.payload.empty()) {
    auto sent = co_await piped_->send_piped(std::move(next.bytes), std::move(next.payload));
    co_return sent;
  }
  std::string bytes = std::move(next.bytes);
  while (!bytes.empty()) {
    std::string rest = bytes.size() > kMostMessage ? bytes.substr(kMostMessage) : std::string();
    bytes.resize(bytes.size() - rest.size());
    CAY_CO_CHECK(co_await socket_->send_binary(std::move(bytes)));
    bytes = std::move(rest);
  }
  co_return Result<void>();
}

asio::awaitable<void> TunnelSession::serve(FlowPtr flow) {
  auto done = co_await converse(flow);
  if (!done) yamux_.reset(flow->id);
  flows_.erase(flow->id);
  to_say_.notify();
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
  CAY_CO_TRY(const auto request, co_await with_deadline<std::string>(
                                     std::move(reading), kHeaderLimit, "the stream's request"));
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
      if (on_port) on_port(port);
    } else {
      status = opened.error().reason == "invalid_port" ? kPortNotAllowed : kDialFailed;
    }
  }
  if (flow->reset) co_return given_up();
  const char answer = status;
  yamux_.send(flow->id, std::string_view(&answer, 1));
  to_say_.notify();
  if (!tunnel) {
    yamux_.fin(flow->id);
    co_return Result<void>();
  }
  const Direct direct(flow->direct, *tunnel);
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
    flow->writing = true;
    CAY_CO_CHECK(co_await tunnel.write(std::move(bytes)));
    flow->writing = false;
    yamux_.consumed(flow->id, size);
    if (!yamux_.out().empty()) to_say_.notify();
  }
  auto shut = co_await tunnel.shut_write();
  co_return shut;
}

Task<void> TunnelSession::up_and_linger(FlowPtr flow, core::Tunnel& tunnel) {
  auto written = co_await up(flow, tunnel);
  if (flow->reset) co_return given_up();
  // Even if writing failed, the client gets the bytes that the program sent before it broke the
  // connection.
  static_cast<void>(written);
  auto deadline = deadline_in(kLinger);
  std::uint64_t moved = flow->moved;
  while (!flow->down_over) {
    if (flow->reset) co_return given_up();
    if (std::exchange(moved, flow->moved) != flow->moved) deadline = deadline_in(kLinger);
    auto in_time = co_await flow->changed.wait_until(deadline);
    if (!in_time && moved == flow->moved) {
      co_return Error{Code::kDeadlineExceeded, "tunnel_lingered",
                      "the client ended its side and takes nothing more", 0};
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
  auto* const kernels = dynamic_cast<PipedStream*>(&tunnel);
  if (kernels != nullptr && kernels->can_splice() && piped_ != nullptr && piped_->can_splice()) {
    CAY_CO_CHECK(co_await pipe_down(flow, *kernels));
  } else {
    CAY_CO_CHECK(co_await copy_down(flow, tunnel));
  }
  yamux_.fin(flow->id);
  to_say_.notify();
  co_return Result<void>();
}

Task<void> TunnelSession::until_sendable(FlowPtr flow) {
  for (;;) {
    if (flow->reset) co_return given_up();
    if (yamux_.sendable(flow->id) == 0) {
      co_await flow->credited.wait();
    } else if (queued() >= kMostQueued) {
      co_await said_.wait();
    } else {
      co_return Result<void>();
    }
  }
}

void TunnelSession::went_down(Flow& flow, std::size_t bytes) {
  flow.moved += bytes;
  to_say_.notify();
  if (flow.fin) flow.changed.notify();  // who lingers wants to know
}

Task<void> TunnelSession::copy_down(FlowPtr flow, core::Tunnel& tunnel) {
  for (;;) {
    CAY_CO_TRY(const auto bytes, co_await tunnel.read());
    if (bytes.empty()) break;
    for (std::string_view left = bytes; !left.empty();) {
      CAY_CO_CHECK(co_await until_sendable(flow));
      const std::string_view piece = left.substr(0, yamux_.sendable(flow->id));
      yamux_.send(flow->id, piece);
      left.remove_prefix(piece.size());
      went_down(*flow, piece.size());
    }
  }
  co_return Result<void>();
}

Task<void> TunnelSession::pipe_down(FlowPtr flow, PipedStream& kernels) {
  for (;;) {
    CAY_CO_CHECK(co_await until_sendable(flow));
    const std::size_t most = std::min<std::size_t>(yamux_.sendable(flow->id), kMostPayload);
    CAY_CO_TRY(KernelPipe payload, co_await kernels.read_piped(most));
    const std::size_t size = payload.size();
    if (size == 0) break;
    if (flow->reset) co_return given_up();
    if (yamux_.out().size() > kGathered) {
      queued_ += yamux_.out().size();
      outgoing_.push_back({std::exchange(yamux_.out(), {}), {}});
    }
    Outgoing next{std::exchange(yamux_.out(), {}) + yamux_.head_of_data(flow->id, size),
                  std::move(payload)};
    queued_ += next.bytes.size() + size;
    outgoing_.push_back(std::move(next));
    went_down(*flow, size);
  }
  co_return Result<void>();
}

}  // namespace cay::api::langsmith
