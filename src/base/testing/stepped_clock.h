// SteppedClock: clocks that stand until a test moves them.
#pragma once
#include <chrono>
#include <string>

#include "base/clock.h"

namespace cay::testing {

class SteppedClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now;
  UnixMillis wall_now = 0;
  UnixMillis wall() const override { return wall_now; }
  std::chrono::steady_clock::time_point steady() const override { return now; }
  Millis since_boot() const override { return {}; }
  std::string boot_id() const override { return "b"; }
};

}  // namespace cay::testing
