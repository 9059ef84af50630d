#include "keeper/loop.h"

#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/assert.h"

namespace cay::keeper {
namespace {

std::int64_t now_ms(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

std::int64_t monotonic_ms() { return now_ms(CLOCK_MONOTONIC); }
std::int64_t boottime_ms() { return now_ms(CLOCK_BOOTTIME); }
std::int64_t wall_ms() { return now_ms(CLOCK_REALTIME); }

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    reset();
    loop_ = std::exchange(other.loop_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void Watch::want(std::uint32_t events) {
  if (loop_ == nullptr) return;
  const auto found = loop_->watches_.find(id_);
  if (found == loop_->watches_.end() || found->second->events == events) return;
  found->second->events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id_;
  ::epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_MOD, found->second->fd, &event);
}

void Watch::reset() {
  if (loop_ != nullptr) std::exchange(loop_, nullptr)->unwatch(id_);
}

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    reset();
    loop_ = std::exchange(other.loop_, nullptr);
    key_ = other.key_;
  }
  return *this;
}

void Timer::reset() {
  if (loop_ != nullptr) std::exchange(loop_, nullptr)->timers_.erase(key_);
}

Loop::Loop(std::int64_t (*now)()) : now_(now), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  CAY_ASSERT(epoll_);
}

Watch Loop::watch(int fd, std::uint32_t events, OnEvents on_events) {
  const std::uint64_t id = next_id_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return {};
  watches_.emplace(id, std::make_shared<Entry>(Entry{fd, events, std::move(on_events)}));
  return {this, id};
}

void Loop::unwatch(std::uint64_t id) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->fd, nullptr);
  watches_.erase(found);
}

Timer Loop::after(std::int64_t millis, Action action) {
  // A delay beyond centuries would overflow, and is the same as never.
  constexpr std::int64_t kFar = std::int64_t{1} << 50;
  const auto key = std::make_pair(now_() + std::clamp<std::int64_t>(millis, 0, kFar), next_id_++);
  timers_.emplace(key, std::move(action));
  return {this, key};
}

void Loop::defer(Action action) { deferred_.push_back(std::move(action)); }

void Loop::when_free(Action action) {
  when_free_.push_back(std::move(action));
  if (free_timer_) return;
  free_timer_ = after(1, [this] {
    free_timer_.reset();
    for (const Action& due : std::exchange(when_free_, {})) due();
  });
}

void Loop::run_deferred() {
  while (!deferred_.empty()) {
    auto batch = std::exchange(deferred_, {});
    for (auto& action : batch) action();
  }
}

int Loop::next_timeout() const {
  if (timers_.empty()) return -1;
  const std::int64_t left = timers_.begin()->first.first - now_();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

void Loop::run() {
  std::array<epoll_event, 64> events{};
  while (!stopped_) {
    run_deferred();
    if (stopped_) break;
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), next_timeout());
    CAY_ASSERT(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; ++i) {
      // By id, not by descriptor: an earlier callback may have closed it and got its number again.
      const epoll_event event = events[static_cast<std::size_t>(i)];
      const std::uint64_t id = event.data.u64;  // by value: the kernel's struct is packed
      const auto found = watches_.find(id);
      if (found == watches_.end()) continue;
      const std::shared_ptr<Entry> entry = found->second;
      entry->on_events(event.events);
    }
    while (!timers_.empty() && timers_.begin()->first.first <= now_()) {
      auto node = timers_.extract(timers_.begin());
      node.mapped()();
    }
  }
}

}  // namespace cay::keeper
