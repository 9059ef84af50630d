// LookBudget: how much of the gate's one thread a door may spend on looking at rules. What a look costs is known once it was made, so it is charged then;
// whoever is in debt waits, which costs the others nothing.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>

namespace cay::gate {

class LookBudget {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kAtOnce = std::chrono::milliseconds(250);
  static constexpr double kOfAll = 0.25, kLeast = 0.01;  // of a core
  static constexpr Clock::duration kTurn = std::chrono::milliseconds(2);

  // That a door gets back while time passes.
  static double share(std::size_t doors);

  void charge(Clock::duration used, Clock::time_point now, double share);
  // Until nothing is owed any more; zero: nothing is.
  Clock::duration owed(Clock::time_point now, double share);
  // Whether others are to have a turn before its next look; its own turn begins anew then.
  bool turn_is_over();

 private:
  void earn(Clock::time_point now, double share);

  Clock::duration left_ = kAtOnce, turn_{};
  std::optional<Clock::time_point> last_;
};

}  // namespace cay::gate
