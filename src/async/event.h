// Event: lets coroutines of one loop wait for something that other code of the loop does.
#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "async/task.h"
#include "base/clock.h"

namespace cay {

// Not thread-safe: set, notify and the waits belong to one loop. Waiters may outlive the Event: its
// end wakes them as if it were set.
class Event {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  static constexpr Deadline kNever = Deadline::max();

  explicit Event(asio::any_io_executor executor);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void set();  // wakes all, and stays set until reset()
  void reset();
  void notify();  // wakes those that wait now, and sets nothing
  bool is_set() const;

  // Until set or notified. Throws operation_aborted when the caller is cancelled.
  asio::awaitable<void> wait();
  // false: the time passed first.
  asio::awaitable<bool> wait_for(Millis limit);
  asio::awaitable<bool> wait_until(Deadline deadline);
  // For clean-up: waits on when the caller is cancelled meanwhile. The caller stays cancelled. One
  // that is cancelled already must first `co_await asio::this_coro::throw_if_cancelled(false)`:
  // else Asio throws before it gets here.
  asio::awaitable<void> wait_through_cancel();

  // Calls `then` on the loop once it is set (which it may be already), unless what is given here
  // has gone by then. Notifications do not count. For what is seldom set: that nobody cancels a
  // waiting coroutine each time.
  using Watch = std::shared_ptr<void>;
  [[nodiscard]] Watch when_set(std::function<void()> then);

  asio::any_io_executor executor() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Deadlines use the machine's clock, for they wake real timers. Clock is for stored and shown
// times.
inline Event::Deadline deadline_in(Millis time) { return std::chrono::steady_clock::now() + time; }

// Throws operation_aborted if the calling coroutine has been cancelled.
asio::awaitable<void> throw_if_cancelled();

// True if `error` is the exception by which a cancelled coroutine unwinds.
bool is_cancellation(const std::exception_ptr& error);

}  // namespace cay
