// Event and Mutex: waiting for each other among the coroutines of one loop. No threads, no locks.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

namespace cay::core {

namespace asio = boost::asio;

// A flag that coroutines wait for. Outlives its waiters (they hold its owner by shared_ptr).
class Event {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  static constexpr Deadline kNever = Deadline::max();

  explicit Event(asio::any_io_executor loop);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void set();    // from now on wait() returns at once
  void reset();  // waits again
  void pulse();  // wakes those who wait now, and nobody later
  bool is_set() const { return set_; }

  // True: set or pulsed; false: the deadline passed first. Throws operation_aborted when the
  // waiting coroutine is cancelled.
  asio::awaitable<bool> wait(Deadline deadline = kNever);

 private:
  struct Waiter;
  void wake_all();
  asio::any_io_executor loop_;
  std::vector<Waiter*> waiters_;
  bool set_ = false;
};

// Deadlines are the machine's, for they wake real timers; a Clock tells what is stored and shown.
inline Event::Deadline deadline_in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// First come, first served.
class Mutex {
  struct State;

 public:
  // Holds the mutex until destroyed.
  class Lock {
   public:
    Lock() = default;
    Lock(Lock&&) noexcept = default;
    Lock& operator=(Lock&& other) noexcept;
    ~Lock();

   private:
    friend class Mutex;
    explicit Lock(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  explicit Mutex(asio::any_io_executor loop);
  asio::awaitable<Lock> lock();
  bool locked() const;

 private:
  struct Turn;
  static void unlock(State& state);
  std::shared_ptr<State> state_;
  asio::any_io_executor loop_;
};

}  // namespace cay::core
