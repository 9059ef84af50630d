#include "api/gateway/socket_relay.h"

#include <algorithm>
#include <utility>

#include "async/deadline.h"
#include "async/piped.h"
#include "async/scope.h"
#include "async/until_set.h"

namespace cay::api {
namespace {

constexpr std::uint64_t kWorthSplicing = 64 * 1024;  // of a frame that is still to come

}  // namespace

asio::awaitable<void> SocketRelay::run(Event& cut, std::function<RelayEnd()> end) {
  {
    Scope parts(executor_);
    parts.spawn(up());
    parts.spawn(down());
    parts.spawn(watch(cut));
    auto over = until_settled();
    co_await parts.until(std::move(over));
  }
  // Within a frame nothing can be sent: an unfinished frame is dropped by a reset.
  if (!cut_ || broken_ || writing_ || !frames_.between()) co_return;
  auto parting = part(end());
  auto parted = co_await with_deadline<void>(std::move(parting), kParting, "the client's parting");
  static_cast<void>(parted);
}

asio::awaitable<void> SocketRelay::until_settled() {
  co_await over_.wait();
  if (!cut_ || broken_ || ended_ == 2) co_return;
  const auto deadline = deadline_in(kParting);
  while (!broken_ && (writing_ || !frames_.between())) {
    auto in_time = co_await changed_.wait_until(deadline);
    if (!in_time) co_return;
  }
}

asio::awaitable<void> SocketRelay::watch(Event& cut) {
  co_await cut.wait();
  cut_ = true;
  over_.set();
}

void SocketRelay::finished(bool whole) {
  broken_ = broken_ || !whole;
  if (++ended_ == 2 || broken_) over_.set();
  changed_.notify();
}

asio::awaitable<void> SocketRelay::up() {
  auto passed = co_await pass_on(client_, service_);
  finished(passed.has_value());
}

asio::awaitable<void> SocketRelay::down() {
  auto passed = co_await pass_down();
  finished(passed.has_value());
}

Task<void> SocketRelay::pass_down() {
  auto* from = dynamic_cast<PipedStream*>(&service_);
  auto* to = dynamic_cast<PipedStream*>(&client_);
  for (;;) {
    const std::uint64_t left = frames_.left();
    if (from != nullptr && to != nullptr && left >= kWorthSplicing && from->can_splice() &&
        to->can_splice()) {
      const std::size_t most =
          static_cast<std::size_t>(std::min<std::uint64_t>(left, KernelPipe::kMost));
      CAY_CO_TRY(KernelPipe pipe, co_await from->read_piped(most));
      if (pipe.empty()) break;
      frames_.skip(pipe.size());
      writing_ = true;
      CAY_CO_CHECK(co_await to->write_piped(std::move(pipe)));
    } else {
      CAY_CO_TRY(Bytes bytes, co_await service_.read());
      if (bytes.empty()) break;
      if (cut_) bytes.resize(frames_.rest_of_frame(bytes));
      frames_.follow(bytes);
      writing_ = true;
      CAY_CO_CHECK(co_await client_.write(std::move(bytes)));
    }
    writing_ = false;
    if (cut_ && frames_.between()) {
      changed_.notify();
      co_return Result<void>();
    }
  }
  auto shut = co_await client_.shut_write();
  co_return shut;
}

Task<void> SocketRelay::part(RelayEnd end) {
  if (!frames_.closed()) {
    CAY_CO_CHECK(co_await client_.write(close_frame(end.code, end.reason)));
  }
  CAY_CO_CHECK(co_await client_.shut_write());
  for (;;) {  // it answers and ends; the rest of its bytes is dropped
    CAY_CO_TRY(const Bytes bytes, co_await client_.read());
    if (bytes.empty()) co_return Result<void>();
  }
}

}  // namespace cay::api
