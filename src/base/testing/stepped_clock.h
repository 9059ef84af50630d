// SteppedClock: a steady clock that stands until a test moves it.
#pragma once
#include <chrono>
#include <string>

#include "base/clock.h"

namespace cay::testing {

class SteppedClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now;
  UnixMillis wall() const override { return 0; }
  std::chrono::steady_clock::time_point steady() const override { return now; }
  Millis since_boot() const override { return {}; }
  std::string boot_id() const override { return "b"; }
};

}  // namespace cay::testing
