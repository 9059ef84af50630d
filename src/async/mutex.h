// Mutex: one coroutine of the loop at a time, first come first served.
#pragma once
#include <deque>
#include <memory>
#include <utility>

#include "async/event.h"

namespace cay {

class Mutex {
 public:
  // Unlocks when it goes. Must not outlive the Mutex.
  class Guard {
   public:
    Guard() = default;
    explicit Guard(Mutex& mutex) : mutex_(&mutex) {}
    Guard(Guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Guard& operator=(Guard&& other) noexcept {
      unlock();
      mutex_ = std::exchange(other.mutex_, nullptr);
      return *this;
    }
    ~Guard() { unlock(); }
    void unlock() {
      if (auto* mutex = std::exchange(mutex_, nullptr)) mutex->unlock();
    }

   private:
    Mutex* mutex_ = nullptr;
  };

  explicit Mutex(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  asio::awaitable<Guard> lock();
  bool locked() const { return locked_; }

 private:
  void unlock();

  asio::any_io_executor executor_;
  bool locked_ = false;
  std::deque<std::shared_ptr<Event>> waiting_;
};

}  // namespace cay
