// A connection to a fake program that sends back what it gets, and ends when its input does.
#include <boost/asio/this_coro.hpp>
#include <algorithm>

#include "async/event.h"
#include "core/testing/fake_live_sandbox.h"

namespace cay::core::testing {
namespace {

class EchoTunnel : public Tunnel {
 public:
  EchoTunnel(asio::any_io_executor loop, FakeLiveTunnels& box)
      : box_(box), changed_(std::move(loop)) {
    ++box_.tunnels;
  }
  ~EchoTunnel() override { --box_.tunnels; }

  Task<Bytes> read() override {
    while (echo_.empty() && !shut_ && !box_.tunnel_error && !broken_) {
      co_await changed_.wait();
    }
    if (broken_) co_return *broken_;
    if (echo_.empty() && box_.tunnel_error) co_return *box_.tunnel_error;
    Bytes piece = echo_.substr(0, std::min<std::size_t>(echo_.size(), 64 * 1024));
    echo_.erase(0, piece.size());
    changed_.notify();
    co_return piece;
  }
  // As a program that reads no further while it cannot send.
  Task<void> write(Bytes bytes) override {
    while (echo_.size() >= kBuffer && !box_.tunnel_error && !broken_) {
      co_await changed_.wait();
    }
    if (broken_) co_return *broken_;
    if (box_.tunnel_error) {
      changed_.notify();
      co_return *box_.tunnel_error;
    }
    echo_ += bytes;
    changed_.notify();
    co_return Result<void>();
  }
  Task<void> shut_write() override {
    shut_ = true;
    changed_.notify();
    co_return Result<void>();
  }
  void break_off(Error why) override {
    broken_ = std::move(why);
    changed_.notify();
  }

 private:
  static constexpr std::size_t kBuffer = 64 * 1024;
  FakeLiveTunnels& box_;
  Bytes echo_;
  bool shut_ = false;
  std::optional<Error> broken_;
  Event changed_;
};

}  // namespace

Task<std::unique_ptr<Tunnel>> FakeLiveTunnels::open_tunnel(std::uint16_t port) {
  CAY_CO_CHECK(answers());
  if (const auto found = programs.find(port); found != programs.end()) co_return found->second();
  if (!echo_ports.contains(port)) {
    co_return Error{Code::kNotReady, "connect_refused",
                    "nothing listens on port " + std::to_string(port), 0};
  }
  auto loop = co_await asio::this_coro::executor;
  co_return std::unique_ptr<Tunnel>(std::make_unique<EchoTunnel>(loop, *this));
}

}  // namespace cay::core::testing
