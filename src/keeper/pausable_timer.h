// PausableTimer: a timer whose time stands still while the sandbox is paused.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "keeper/loop.h"

namespace cay::keeper {

class PausableTimer {
 public:
  // `paused`: it begins to run at resume().
  void start(Loop& loop, std::int64_t millis, Loop::Action action, bool paused) {
    reset();
    loop_ = &loop;
    left_ = millis;
    action_ = std::move(action);
    if (!paused) resume();
  }
  void pause() {
    if (!std::exchange(running_, false)) return;
    left_ = std::max<std::int64_t>(0, due_ - loop_->now());
    timer_.reset();
  }
  void resume() {
    if (loop_ == nullptr || running_) return;
    running_ = true;
    // A delay beyond centuries would overflow; Loop::after bounds it in the same way.
    constexpr std::int64_t kFar = std::int64_t{1} << 50;
    due_ = loop_->now() + std::min(left_, kFar);
    timer_ = loop_->after(left_, [this] {
      running_ = false;
      loop_ = nullptr;
      const Loop::Action action = std::exchange(action_, nullptr);
      action();
    });
  }
  void reset() {
    timer_.reset();
    running_ = false;
    loop_ = nullptr;
    action_ = nullptr;
  }

 private:
  Loop* loop_ = nullptr;
  Timer timer_;
  bool running_ = false;
  std::int64_t left_ = 0;  // while paused
  std::int64_t due_ = 0;
  Loop::Action action_;
};

}  // namespace cay::keeper
