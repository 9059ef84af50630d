#include "client/retry.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cay::client {

using namespace std::chrono_literals;

asio::awaitable<bool> Retry::pause() {
  if (std::chrono::steady_clock::now() >= end_) co_return false;
  if (wait_ > 0ms) {
    asio::steady_timer timer(executor_, wait_);
    co_await timer.async_wait(asio::use_awaitable);
  }
  wait_ = std::clamp(wait_ * 2, 10ms, 1000ms);
  co_return true;
}

}  // namespace cay::client
