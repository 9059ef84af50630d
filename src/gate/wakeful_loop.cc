#include "gate/wakeful_loop.h"

#include <sched.h>

#include <algorithm>

namespace cay::gate {

bool WakefulLoop::is_alone() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < 2;
}

WakefulLoop::WakefulLoop(bool alone) : alone_(alone) {}

bool WakefulLoop::stays_awake(Clock::time_point last, Clock::time_point now) {
  if (alone_ || !came_) return false;
  left_ = std::min<Clock::duration>(kSaved, left_ + (now - earned_) / kShare);
  earned_ = now;
  if (looked_) left_ -= now - *looked_;
  looked_ = now;
  return left_ > Clock::duration::zero() && now - last < kAwake && now - *came_ < kAfterOne;
}

void WakefulLoop::run(boost::asio::io_context& loop) {
  while (loop.run_one() > 0) {
    for (auto last = Clock::now(); stays_awake(last, Clock::now());) {
      if (loop.poll() == 0) continue;
      ends();
      last = Clock::now();
    }
    ends();
  }
}

}  // namespace cay::gate
