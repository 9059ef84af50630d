// Channel: a bounded queue between coroutines of one loop.
#pragma once
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "async/event.h"

namespace cay {

template <class T>
class Channel {
 public:
  Channel(asio::any_io_executor executor, std::size_t capacity)
      : capacity_(capacity), changed_(std::move(executor)) {}

  // Waits while full. false: closed, and `value` is dropped.
  asio::awaitable<bool> push(T value) {
    while (!closed_ && items_.size() >= capacity_) {
      co_await changed_.wait();
    }
    if (closed_) co_return false;
    items_.push_back(std::move(value));
    changed_.notify();
    co_return true;
  }

  // false: full or closed.
  bool try_push(T value) {
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(value));
    changed_.notify();
    return true;
  }

  // nullopt: closed, and all that was pushed has been taken.
  asio::awaitable<std::optional<T>> pop() {
    while (!closed_ && items_.empty()) {
      co_await changed_.wait();
    }
    co_return try_pop();
  }

  // Until pop() would not wait. false: the deadline passed first.
  asio::awaitable<bool> ready_until(Event::Deadline deadline) {
    while (!closed_ && items_.empty()) {
      auto changed = co_await changed_.wait_until(deadline);
      if (!changed && !closed_ && items_.empty()) co_return false;
    }
    co_return true;
  }

  std::optional<T> try_pop() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    changed_.notify();
    return value;
  }

  void close() {
    closed_ = true;
    changed_.notify();
  }
  bool closed() const { return closed_; }
  std::size_t size() const { return items_.size(); }

 private:
  std::size_t capacity_;
  std::deque<T> items_;
  bool closed_ = false;
  Event changed_;
};

}  // namespace cay
