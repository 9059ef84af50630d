#include "api/langsmith/tunnel_sender.h"

#include <utility>

namespace cay::api::langsmith {
namespace {

constexpr std::size_t kMostQueued = 256 * 1024;  // to be sent: streams wait
constexpr std::size_t kMostAnswers =
    1024 * 1024;  // the same, with answers to the client's own frames: nothing more is read
constexpr std::size_t kMostMessage = 512 * 1024;
constexpr std::size_t kMostBeforePayload = 64 * 1024;  // more go out as messages of their own
constexpr Millis kFlushLimit{5'000};

}  // namespace

TunnelSender::TunnelSender(http::WebSocket& socket, Yamux& yamux, asio::any_io_executor executor)
    : socket_(socket),
      piped_(dynamic_cast<http::PipedSocket*>(&socket)),
      yamux_(yamux),
      to_send_(executor),
      sent_(executor) {}

asio::awaitable<void> TunnelSender::run() {
  for (;;) {
    while (is_all_sent()) {
      co_await to_send_.wait();
    }
    Outgoing next = take_next();
    sending_ = true;
    auto sent = co_await send(std::move(next));
    if (!sent) {  // the reading side sees the end
      broken_ = true;
      sent_.notify();
      co_return;
    }
    sending_ = false;
    sent_.notify();
  }
}

void TunnelSender::notify() {
  if (!is_all_sent()) to_send_.notify();
}

void TunnelSender::queue(Yamux::Id stream, KernelPipe payload) {
  if (yamux_.out().size() > kMostBeforePayload) {
    queued_ += yamux_.out().size();
    outgoing_.push_back({std::exchange(yamux_.out(), {}), {}});
  }
  const std::size_t size = payload.size();
  Outgoing next{std::exchange(yamux_.out(), {}) + yamux_.head_of_data(stream, size),
                std::move(payload)};
  queued_ += next.bytes.size() + size;
  outgoing_.push_back(std::move(next));
  notify();
}

bool TunnelSender::is_full() const { return queued_ + yamux_.out().size() >= kMostQueued; }

asio::awaitable<bool> TunnelSender::wait_for_room() {
  while (!broken_ && yamux_.out().size() > kMostAnswers) {
    co_await sent_.wait();
  }
  co_return yamux_.out().size() <= kMostAnswers;
}

asio::awaitable<void> TunnelSender::flush() {
  const auto deadline = deadline_in(kFlushLimit);
  while (!is_all_sent() || sending_) {
    auto in_time = co_await sent_.wait_until(deadline);
    if (!in_time) co_return;
  }
}

TunnelSender::Outgoing TunnelSender::take_next() {
  if (outgoing_.empty()) return {std::exchange(yamux_.out(), {}), {}};
  Outgoing next = std::move(outgoing_.front());
  outgoing_.pop_front();
  queued_ -= next.bytes.size() + next.payload.size();
  return next;
}

Task<void> TunnelSender::send(Outgoing next) {
  if (!next.payload.empty()) {
    auto sent = co_await piped_->send_piped(std::move(next.bytes), std::move(next.payload));
    co_return sent;
  }
  std::string bytes = std::move(next.bytes);
  while (!bytes.empty()) {
    std::string rest = bytes.size() > kMostMessage ? bytes.substr(kMostMessage) : std::string();
    bytes.resize(bytes.size() - rest.size());
    CAY_CO_CHECK(co_await socket_.send_binary(std::move(bytes)));
    bytes = std::move(rest);
  }
  co_return Result<void>();
}

}  // namespace cay::api::langsmith
