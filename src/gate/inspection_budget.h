// InspectionBudget limits the time of the gate's one thread that a sandbox may spend on the
// evaluation of its rules. The cost of an evaluation is known afterwards, and charged then. A
// sandbox in debt waits, which costs the others nothing.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>

namespace cay::gate {

class InspectionBudget {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kAtOnce = std::chrono::milliseconds(250);
  static constexpr double kOfAll = 0.25, kLeast = 0.01;  // of a core
  static constexpr Clock::duration kTurn = std::chrono::milliseconds(2);

  // The share that a sandbox earns while time passes.
  static double share(std::size_t sandboxes);

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
