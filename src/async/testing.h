// run: drives a coroutine to its end on a loop of its own. For tests.
#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "async/task.h"

namespace cay::testing {

// Runs `loop` until `body` has ended; what it throws is thrown here. The loop may be run again.
template <class T>
T run(asio::io_context& loop, asio::awaitable<T> body) {
  std::exception_ptr failure;
  bool ended = false;
  if constexpr (std::is_void_v<T>) {
    asio::co_spawn(loop, std::move(body), [&](std::exception_ptr error) {
      failure = error;
      ended = true;
    });
    loop.restart();
    while (!ended && loop.run_one() > 0) {
    }
    if (failure) std::rethrow_exception(failure);
    if (!ended) throw std::logic_error("the loop ran dry before the coroutine ended");
  } else {
    std::optional<T> value;
    auto store = [](asio::awaitable<T> work, std::optional<T>* out) -> asio::awaitable<void> {
      auto got = co_await std::move(work);
      out->emplace(std::move(got));
    };
    run<void>(loop, store(std::move(body), &value));
    return *std::move(value);
  }
}

}  // namespace cay::testing
