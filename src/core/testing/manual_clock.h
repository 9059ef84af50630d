// ManualClock: time that moves when the test says so.
#pragma once
#include "base/clock.h"

namespace cay::core::testing {

class ManualClock : public Clock {
 public:
  UnixMillis wall() const override { return wall_; }
  std::chrono::steady_clock::time_point steady() const override { return steady_; }

  void advance(Millis by) {
    wall_ += by.count();
    steady_ += by;
  }

 private:
  UnixMillis wall_ = 1'800'000'000'000;
  std::chrono::steady_clock::time_point steady_{std::chrono::hours(1)};
};

}  // namespace cay::core::testing
