// Mutex: one coroutine of the loop at a time, first come first served.
#pragma once
#include <memory>
#include <utility>

#include "async/event.h"

namespace cay {

class Mutex {
  struct State;

 public:
  // Holds the mutex until it goes. May outlive the Mutex.
  class Guard {
   public:
    Guard() = default;
    Guard(Guard&& other) noexcept : state_(std::move(other.state_)) {}
    Guard& operator=(Guard&& other) noexcept;
    ~Guard() { unlock(); }
    void unlock();

   private:
    friend class Mutex;
    explicit Guard(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  explicit Mutex(asio::any_io_executor executor);

  asio::awaitable<Guard> lock();
  bool locked() const;

 private:
  struct Turn;
  std::shared_ptr<State> state_;
};

}  // namespace cay
