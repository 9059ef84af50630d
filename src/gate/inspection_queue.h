// InspectionQueue: one evaluation of a sandbox's rules at a time, paid by that sandbox.
#pragma once
#include <cstddef>
#include <utility>

#include "async/mutex.h"
#include "async/task.h"
#include "gate/inspection_budget.h"

namespace cay::gate {

class InspectionQueue {
 public:
  // `sandboxes` is how many share the gate's thread, and changes. It outlives the queue.
  InspectionQueue(asio::any_io_executor loop, const std::size_t& sandboxes)
      : mutex_(std::move(loop)), sandboxes_(sandboxes) {}

  // Held while rules are evaluated, and never across a wait. Its end charges the time.
  class Turn {
   public:
    Turn(Turn&& other) noexcept
        : queue_(std::exchange(other.queue_, nullptr)),
          guard_(std::move(other.guard_)),
          begun_(other.begun_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() { end(); }
    void end();

   private:
    friend class InspectionQueue;
    Turn(InspectionQueue& queue, Mutex::Guard guard)
        : queue_(&queue), guard_(std::move(guard)), begun_(InspectionBudget::Clock::now()) {}

    InspectionQueue* queue_;
    Mutex::Guard guard_;
    InspectionBudget::Clock::time_point begun_;
  };

  // Waits until the sandbox's earlier turns have ended and are paid for.
  asio::awaitable<Turn> turn();

 private:
  Mutex mutex_;
  InspectionBudget budget_;
  const std::size_t& sandboxes_;
};

}  // namespace cay::gate
