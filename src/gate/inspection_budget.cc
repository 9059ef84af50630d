#include "gate/inspection_budget.h"

#include <algorithm>

namespace cay::gate {

double InspectionBudget::share(std::size_t sandboxes) {
  return std::max(kLeast, kOfAll / static_cast<double>(std::max<std::size_t>(sandboxes, 1)));
}

void InspectionBudget::earn(Clock::time_point now, double share) {
  if (last_)
    left_ = std::min(kAtOnce,
                     left_ + std::chrono::duration_cast<Clock::duration>((now - *last_) * share));
  last_ = now;
}

void InspectionBudget::charge(Clock::duration used, Clock::time_point now, double share) {
  earn(now, share);
  left_ -= used;
  turn_ += used;
}

InspectionBudget::Clock::duration InspectionBudget::owed(Clock::time_point now, double share) {
  earn(now, share);
  return left_ >= Clock::duration::zero()
             ? Clock::duration::zero()
             : std::chrono::duration_cast<Clock::duration>(-left_ / share);
}

bool InspectionBudget::turn_is_over() {
  if (turn_ < kTurn) return false;
  turn_ = {};
  return true;
}

}  // namespace cay::gate
