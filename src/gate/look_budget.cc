#include "gate/look_budget.h"

#include <algorithm>

namespace cay::gate {

double LookBudget::share(std::size_t doors) { return std::max(kLeast, kOfAll / static_cast<double>(std::max<std::size_t>(doors, 1))); }

void LookBudget::earn(Clock::time_point now, double share) {
  if (last_) left_ = std::min(kAtOnce, left_ + std::chrono::duration_cast<Clock::duration>((now - *last_) * share));
  last_ = now;
}

void LookBudget::charge(Clock::duration used, Clock::time_point now, double share) {
  earn(now, share);
  left_ -= used;
  turn_ += used;
}

LookBudget::Clock::duration LookBudget::owed(Clock::time_point now, double share) {
  earn(now, share);
  return left_ >= Clock::duration::zero() ? Clock::duration::zero() : std::chrono::duration_cast<Clock::duration>(-left_ / share);
}

bool LookBudget::turn_is_over() {
  if (turn_ < kTurn) return false;
  turn_ = {};
  return true;
}

}  // namespace cay::gate
