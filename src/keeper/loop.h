// Loop: the keeper's one epoll loop, with timers. Callbacks run one after another on the only
// thread; a callback may remove any watch or timer, its own too.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace cay::keeper {

// CLOCK_MONOTONIC, CLOCK_BOOTTIME (which counts the host's sleep) and wall-clock milliseconds.
std::int64_t monotonic_ms();
std::int64_t boottime_ms();
std::int64_t wall_ms();

class Loop;

// A descriptor's registration; ends with the object. Does not own the descriptor.
class Watch {
 public:
  Watch() = default;
  Watch(Watch&& other) noexcept { *this = std::move(other); }
  Watch& operator=(Watch&& other) noexcept;
  ~Watch() { reset(); }
  // EPOLL* bits wanted from now on; 0 keeps the registration and silences it.
  void want(std::uint32_t events);
  void reset();
  explicit operator bool() const { return loop_ != nullptr; }

 private:
  friend class Loop;
  Watch(Loop* loop, std::uint64_t id) : loop_(loop), id_(id) {}
  Loop* loop_ = nullptr;
  std::uint64_t id_ = 0;
};

// A pending timer; ends with the object.
class Timer {
 public:
  Timer() = default;
  Timer(Timer&& other) noexcept { *this = std::move(other); }
  Timer& operator=(Timer&& other) noexcept;
  ~Timer() { reset(); }
  void reset();
  explicit operator bool() const { return loop_ != nullptr; }

 private:
  friend class Loop;
  Timer(Loop* loop, std::pair<std::int64_t, std::uint64_t> key) : loop_(loop), key_(key) {}
  Loop* loop_ = nullptr;
  std::pair<std::int64_t, std::uint64_t> key_{};
};

class Loop {
 public:
  using OnEvents = std::function<void(std::uint32_t)>;
  using Action = std::function<void()>;

  // `now`: monotonic milliseconds; tests have a clock of their own.
  explicit Loop(std::int64_t (*now)() = monotonic_ms);
  std::int64_t now() const { return now_(); }

  // False on a descriptor that epoll refuses (the Watch is then empty).
  Watch watch(int fd, std::uint32_t events, OnEvents on_events);
  Timer after(std::int64_t millis, Action action);
  // Runs `action` before the loop sleeps again.
  void defer(Action action);

  // Runs `action` in about a millisecond. For work that nobody waits for: what was just started
  // goes first, on a host that has one processor free.
  void when_free(Action action);

  // Until stop().
  void run();
  void stop() { stopped_ = true; }
  void go_on() { stopped_ = false; }  // run() may be called again

 private:
  friend class Watch;
  friend class Timer;
  struct Entry {
    int fd;
    std::uint32_t events;
    OnEvents on_events;
  };

  void unwatch(std::uint64_t id);
  void run_deferred();
  int next_timeout() const;

  std::int64_t (*now_)();
  UniqueFd epoll_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Entry>> watches_;
  std::map<std::pair<std::int64_t, std::uint64_t>, Action> timers_;
  std::vector<Action> deferred_;
  std::vector<Action> when_free_;
  Timer free_timer_;
  bool stopped_ = false;
};

}  // namespace cay::keeper
