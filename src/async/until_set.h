// until_set: a Task that an Event cuts short; splice: two connections made one.
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"

namespace cay {

// Ends with `body`, which is cancelled when `cut` is set. Throws what `body` threw, but for its
// cancellation.
asio::awaitable<void> first_of(asio::awaitable<void> body, Event& cut);

// Returns the result of `work`. If `cut` is set first, work is cancelled and the result is `why`.
template <class T>
Task<T> until_set(Task<T> work, Event& cut, Error why) {
  if (cut.is_set()) co_return why;
  auto out = std::make_shared<std::optional<Result<T>>>();
  auto body = detail::store_result<T>(std::move(work), out);
  co_await first_of(std::move(body), cut);
  if (out->has_value()) co_return std::move(**out);
  if (!cut.is_set()) {
    co_await throw_if_cancelled();  // it was the caller's end, not the cut
  }
  co_return why;
}

// The same, and fails as with_deadline() after `limit`. It cancels nothing unless one of them comes
// first: a cancellation is an exception, which costs more than many a wait.
template <class T>
Task<T> with_deadline_until_set(Task<T> work, Millis limit, Event& cut, Error why) {
  if (cut.is_set()) co_return why;
  auto out = std::make_shared<std::optional<Result<T>>>();
  auto body = detail::store_result<T>(std::move(work), out);
  auto in_time = co_await detail::run_until(std::move(body), limit, &cut);
  if (out->has_value()) co_return std::move(**out);
  if (cut.is_set()) co_return why;
  static_cast<void>(in_time);
  co_return Error{Code::kDeadlineExceeded, "deadline_exceeded",
                  "it did not end within " + std::to_string(limit.count()) + " ms", 0};
}

// Passes bytes on until `from` ends, and then ends `to`. If `from` is a socket of the kernel's, its
// break is noticed also while `to` takes nothing: the result is kUnavailable (connection_lost).
Task<void> pass_on(ByteStream& from, ByteStream& to);

// Passes bytes both ways until each direction has ended, or one could not be read, which is the
// result. A stream that takes no more bytes ends one direction. Its own bytes are still passed on.
Task<void> splice(ByteStream& one, ByteStream& other);

}  // namespace cay
