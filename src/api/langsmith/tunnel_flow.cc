#include "api/langsmith/tunnel_flow.h"

#include <algorithm>
#include <utility>

#include "async/deadline.h"
#include "async/scope.h"

namespace cay::api::langsmith {
namespace {

constexpr std::size_t kMostSpliced = 256 * 1024;  // in one frame that stays in the kernel
constexpr std::size_t kGathered = 64 * 1024;
constexpr std::size_t kRequestBytes = 3;  // version u8 | port u16
constexpr std::uint8_t kTunnelVersion = 1;

enum Status : char { kOk = 0, kPortNotAllowed = 1, kDialFailed = 2, kUnsupportedVersion = 3 };

// Keeps a pointer to the program's connection for no longer than the connection itself.
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

TunnelFlow::TunnelFlow(Yamux::Id stream, Yamux& yamux, TunnelSender& sender,
                       asio::any_io_executor executor)
    : id_(stream),
      yamux_(yamux),
      sender_(sender),
      executor_(executor),
      changed_(executor),
      credited_(executor) {}

void TunnelFlow::on_data(std::string_view bytes) {
  if (direct_ != nullptr && inbox_.empty() && !writing_) {
    const std::size_t gone = direct_->write_now(bytes);
    yamux_.consumed(id_, gone);
    bytes.remove_prefix(gone);
  }
  if (bytes.empty()) return;
  // Small pieces are gathered: a window's worth of them costs little more than the window.
  if (!inbox_.empty() && inbox_.back().size() + bytes.size() <= kGathered) {
    inbox_.back() += bytes;
  } else {
    inbox_.emplace_back(bytes);
  }
  changed_.notify();
}

void TunnelFlow::on_fin() {
  fin_ = true;
  changed_.notify();
}

void TunnelFlow::on_reset() {
  reset_ = true;
  changed_.notify();
  credited_.notify();
}

Task<std::string> TunnelFlow::read_request() {
  std::string request;
  while (request.size() < kRequestBytes) {
    if (reset_ || (fin_ && inbox_.empty())) co_return given_up();
    if (inbox_.empty()) {
      co_await changed_.wait();
      continue;
    }
    std::string& first = inbox_.front();
    const std::size_t take = std::min(kRequestBytes - request.size(), first.size());
    request += first.substr(0, take);
    first.erase(0, take);
    if (first.empty()) inbox_.pop_front();
  }
  yamux_.consumed(id_, kRequestBytes);
  co_return request;
}

Task<void> TunnelFlow::run(OpenPort open) {
  auto reading = read_request();
  CAY_CO_TRY(const auto request, co_await with_deadline<std::string>(
                                     std::move(reading), kHeaderLimit, "the stream's request"));
  const auto byte = [&request](std::size_t i) { return static_cast<std::uint8_t>(request[i]); };
  Status status = kOk;
  std::unique_ptr<core::Tunnel> tunnel;
  if (byte(0) != kTunnelVersion) {
    status = kUnsupportedVersion;
  } else {
    const auto port = static_cast<std::uint16_t>(byte(1) << 8 | byte(2));
    auto opened = co_await open(port);
    if (opened) {
      tunnel = *std::move(opened);
    } else {
      status = opened.error().reason == "invalid_port" ? kPortNotAllowed : kDialFailed;
    }
  }
  if (reset_) co_return given_up();
  const char answer = status;
  yamux_.send(id_, std::string_view(&answer, 1));
  sender_.notify();
  if (!tunnel) {
    yamux_.fin(id_);
    co_return Result<void>();
  }
  auto done = co_await relay(*tunnel);
  co_return done;
}

Task<void> TunnelFlow::relay(core::Tunnel& tunnel) {
  const Direct direct(direct_, tunnel);
  Scope pumps(executor_);
  pumps.spawn(send_to_client(tunnel));
  auto done = co_await pumps.until(write_and_linger(tunnel));
  co_return done;
}

Task<void> TunnelFlow::write_to_program(core::Tunnel& tunnel) {
  for (;;) {
    if (reset_) co_return given_up();
    if (inbox_.empty()) {
      if (fin_) break;
      co_await changed_.wait();
      continue;
    }
    std::string bytes = std::move(inbox_.front());
    inbox_.pop_front();
    const std::size_t size = bytes.size();
    writing_ = true;
    CAY_CO_CHECK(co_await tunnel.write(std::move(bytes)));
    writing_ = false;
    yamux_.consumed(id_, size);
    sender_.notify();
  }
  auto shut = co_await tunnel.shut_write();
  co_return shut;
}

Task<void> TunnelFlow::write_and_linger(core::Tunnel& tunnel) {
  auto written = co_await write_to_program(tunnel);
  if (reset_) co_return given_up();
  // Even if writing failed, the client gets the bytes that the program sent before it broke the
  // connection.
  static_cast<void>(written);
  auto deadline = deadline_in(kLinger);
  std::uint64_t sent = sent_;
  while (!program_over_) {
    if (reset_) co_return given_up();
    if (std::exchange(sent, sent_) != sent_) deadline = deadline_in(kLinger);
    auto in_time = co_await changed_.wait_until(deadline);
    if (!in_time && sent == sent_) {
      co_return Error{Code::kDeadlineExceeded, "tunnel_lingered",
                      "the client ended its side and takes nothing more", 0};
    }
  }
  co_return std::move(program_end_);
}

asio::awaitable<void> TunnelFlow::send_to_client(core::Tunnel& tunnel) {
  program_end_ = co_await send_until_end(tunnel);
  program_over_ = true;
  // A broken connection ends both ways, and the side that waits for the client must see it.
  if (!program_end_) fin_ = true;
  changed_.notify();
}

Task<void> TunnelFlow::send_until_end(core::Tunnel& tunnel) {
  auto* const program = dynamic_cast<PipedStream*>(&tunnel);
  if (program != nullptr && program->can_splice() && sender_.can_splice()) {
    CAY_CO_CHECK(co_await splice_to_client(*program));
  } else {
    CAY_CO_CHECK(co_await copy_to_client(tunnel));
  }
  yamux_.fin(id_);
  sender_.notify();
  co_return Result<void>();
}

Task<void> TunnelFlow::wait_until_sendable() {
  for (;;) {
    if (reset_) co_return given_up();
    if (yamux_.sendable(id_) == 0) {
      co_await credited_.wait();
    } else if (sender_.is_full()) {
      co_await sender_.wait_for_progress();
    } else {
      co_return Result<void>();
    }
  }
}

void TunnelFlow::count_sent(std::size_t bytes) {
  sent_ += bytes;
  if (fin_) changed_.notify();  // who lingers wants to know
}

Task<void> TunnelFlow::copy_to_client(core::Tunnel& tunnel) {
  for (;;) {
    CAY_CO_TRY(const auto bytes, co_await tunnel.read());
    if (bytes.empty()) break;
    for (std::string_view left = bytes; !left.empty();) {
      CAY_CO_CHECK(co_await wait_until_sendable());
      const std::string_view piece = left.substr(0, yamux_.sendable(id_));
      yamux_.send(id_, piece);
      sender_.notify();
      left.remove_prefix(piece.size());
      count_sent(piece.size());
    }
  }
  co_return Result<void>();
}

Task<void> TunnelFlow::splice_to_client(PipedStream& program) {
  for (;;) {
    CAY_CO_CHECK(co_await wait_until_sendable());
    const std::size_t most = std::min<std::size_t>(yamux_.sendable(id_), kMostSpliced);
    CAY_CO_TRY(KernelPipe payload, co_await program.read_piped(most));
    const std::size_t size = payload.size();
    if (size == 0) break;
    if (reset_) co_return given_up();
    sender_.queue(id_, std::move(payload));
    count_sent(size);
  }
  co_return Result<void>();
}

}  // namespace cay::api::langsmith
