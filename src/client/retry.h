// Retry: pauses that grow from 10 ms to 1 s, until a limit of time has passed.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <chrono>

#include "async/task.h"

namespace cay::client {

class Retry {
 public:
  Retry(asio::any_io_executor executor, double limit_s)
      : executor_(std::move(executor)),
        end_(std::chrono::steady_clock::now() +
             std::chrono::milliseconds(static_cast<std::int64_t>(limit_s * 1000))) {}

  // False: the time is over. Does not wait the first time it is called.
  asio::awaitable<bool> pause();

 private:
  asio::any_io_executor executor_;
  std::chrono::steady_clock::time_point end_;
  std::chrono::milliseconds wait_{0};
};

}  // namespace cay::client
