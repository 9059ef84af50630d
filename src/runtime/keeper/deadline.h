// Waiting on an Event until a point in time.
#pragma once
#include <algorithm>
#include <chrono>

#include "async/event.h"

namespace cay::runtime {

using Deadline = std::chrono::steady_clock::time_point;

inline Deadline after(Millis span) { return std::chrono::steady_clock::now() + span; }
inline bool passed(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

// Returns at a notify or at the deadline: look again. Deadline::max(): none.
inline asio::awaitable<bool> wait_until(Event& event, Deadline deadline) {
  constexpr Millis kLong = std::chrono::hours(24 * 365);
  const auto now = std::chrono::steady_clock::now();
  if (deadline == Deadline::max()) return event.wait_for(kLong);
  const auto left = std::chrono::ceil<Millis>(deadline - now);
  return event.wait_for(std::clamp(left, Millis{0}, kLong));
}

}  // namespace cay::runtime
