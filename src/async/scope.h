// Scope: owns the coroutines that it spawns; cancels and joins them. No coroutine of Cay's runs
// without an owner (spawn.h is for the few that live as long as the program).
#pragma once
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "async/task.h"

namespace cay {

class Scope {
 public:
  explicit Scope(asio::any_io_executor executor);
  ~Scope();  // cancels what still runs, and does not wait: prefer until() or join()
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Starts it on the loop (not before the caller suspends or returns to the loop).
  void spawn(asio::awaitable<void> child);
  void cancel();
  std::size_t running() const;

  // Waits for all children, even if the caller is cancelled meanwhile (a caller that is cancelled
  // already does not get here: until() is for it). Throws what the first failing child threw (its
  // being cancelled is no failure).
  asio::awaitable<void> join();

  // Runs `body`, then cancels and joins the children: also when body throws or is cancelled.
  template <class T>
  asio::awaitable<T> until(asio::awaitable<T> body);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

template <class T>
asio::awaitable<T> Scope::until(asio::awaitable<T> body) {
  std::exception_ptr failure;
  if constexpr (std::is_void_v<T>) {
    try {
      co_await std::move(body);
    } catch (...) {
      failure = std::current_exception();
    }
    cancel();
    co_await asio::this_coro::throw_if_cancelled(false);  // or a cancelled caller could not await
    co_await join();
    co_await asio::this_coro::throw_if_cancelled(true);
    if (failure) std::rethrow_exception(failure);
  } else {
    std::optional<T> value;
    try {
      auto got = co_await std::move(body);
      value.emplace(std::move(got));
    } catch (...) {
      failure = std::current_exception();
    }
    cancel();
    co_await asio::this_coro::throw_if_cancelled(false);  // or a cancelled caller could not await
    co_await join();
    co_await asio::this_coro::throw_if_cancelled(true);
    if (failure) std::rethrow_exception(failure);
    co_return *std::move(value);
  }
}

}  // namespace cay
