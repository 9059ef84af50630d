// ManualClock: time that moves when the test moves it.
#pragma once
#include <optional>
#include <string>

#include "base/clock.h"

namespace cay::core::testing {

class ManualClock : public Clock {
 public:
  UnixMillis wall() const override { return wall_; }
  std::chrono::steady_clock::time_point steady() const override { return steady_; }
  Millis since_boot() const override { return since_boot_; }
  std::string boot_id() const override { return "boot-" + std::to_string(boots_); }

  void advance(Millis by) {
    wall_ += by.count();
    steady_ += by;
    since_boot_ += by;
  }
  // Somebody sets the wall clock: no time passes.
  void set_wall_by(Millis by) { wall_ += by.count(); }
  // The host is off for so long and boots again; its clock was kept, or came up at `wall`.
  void reboot(Millis off, std::optional<UnixMillis> wall = std::nullopt) {
    wall_ = wall.value_or(wall_ + off.count());
    steady_ += Millis(1000);
    since_boot_ = Millis(1000);
    ++boots_;
  }

 private:
  UnixMillis wall_ = 1'800'000'000'000;
  std::chrono::steady_clock::time_point steady_{std::chrono::hours(1)};
  Millis since_boot_{3'600'000};
  int boots_ = 1;
};

}  // namespace cay::core::testing
