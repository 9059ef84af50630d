// with_deadline: gives a Task a time limit; the loser is cancelled and unwound before it returns.
#pragma once
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/task.h"
#include "base/clock.h"

namespace cay {

class Event;

namespace detail {
// Runs body; false: cancelled after `limit`. Cancelling the caller cancels body, and so does `cut`
// when it is set.
asio::awaitable<bool> run_until(asio::awaitable<void> body, Millis limit, Event* cut = nullptr);

template <class T>
asio::awaitable<void> store_result(Task<T> work, std::shared_ptr<std::optional<Result<T>>> out) {
  auto got = co_await std::move(work);
  out->emplace(std::move(got));
}
}  // namespace detail

// Returns the time that is left until `deadline`, rounded up, and 0 once it has passed.
inline Millis left_until(std::chrono::steady_clock::time_point deadline) {
  return std::chrono::ceil<Millis>(
      std::max(deadline - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration{}));
}

// kDeadlineExceeded "deadline_exceeded" after `limit`; `what` names the work in the message.
template <class T>
Task<T> with_deadline(Task<T> work, Millis limit, std::string what = "the operation") {
  auto out = std::make_shared<std::optional<Result<T>>>();
  auto body = detail::store_result<T>(std::move(work), out);
  auto in_time = co_await detail::run_until(std::move(body), limit);
  if (out->has_value()) co_return std::move(**out);
  static_cast<void>(in_time);
  co_return Error{Code::kDeadlineExceeded, "deadline_exceeded",
                  what + " did not end within " + std::to_string(limit.count()) + " ms", 0};
}

// Waits; throws operation_aborted when the caller is cancelled.
asio::awaitable<void> sleep_for(Millis time);

}  // namespace cay
