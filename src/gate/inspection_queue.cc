#include "gate/inspection_queue.h"

#include <chrono>

#include "async/deadline.h"
#include "gate/sockets.h"

namespace cay::gate {

asio::awaitable<InspectionQueue::Turn> InspectionQueue::turn() {
  auto guard = co_await mutex_.lock();
  if (budget_.turn_is_over()) {
    co_await give_way();
  }
  for (;;) {
    const double share = InspectionBudget::share(sandboxes_);
    const auto owed = budget_.owed(InspectionBudget::Clock::now(), share);
    if (owed <= InspectionBudget::Clock::duration::zero()) break;
    co_await sleep_for(std::chrono::ceil<Millis>(owed));
  }
  co_return Turn(*this, std::move(guard));
}

void InspectionQueue::Turn::end() {
  if (queue_ == nullptr) return;
  const auto now = InspectionBudget::Clock::now();
  queue_->budget_.charge(now - begun_, now, InspectionBudget::share(queue_->sandboxes_));
  queue_ = nullptr;
  guard_.unlock();
}

}  // namespace cay::gate
