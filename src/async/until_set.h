// until_set: a Task that an Event cuts short; splice: two connections made one.
#pragma once
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"

namespace cay {

// Ends when either does; the other is cancelled and unwound first. Throws what `body` threw.
asio::awaitable<void> first_of(asio::awaitable<void> body, Event& cut);

// What `work` gives; or, if `cut` is set first, `why`: work is then cancelled and unwound.
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

// Passes bytes on until `from` ends, and ends `to`. A `from` that is the kernel's and breaks while `to` takes nothing, so that nobody
// reads of it, is noticed all the same: that is kUnavailable (connection_lost).
Task<void> pass_on(ByteStream& from, ByteStream& to);

// Passes bytes between the two until both directions have ended, each for itself, or one could not be read: that is the
// result. One that takes nothing any more ends a direction; what it still says is passed on first.
Task<void> splice(ByteStream& one, ByteStream& other);

}  // namespace cay
