#include "runtime/keeper/link_events.h"

#include <utility>

namespace cay::runtime {

void LinkEvents::set(Handler handler) {
  handler_ = std::move(handler);
  if (!handler_) return;
  waiting_bytes_ = 0;
  for (const auto& frame : std::exchange(waiting_, {})) handler_(frame);
}

void LinkEvents::take(const wire::Frame& frame) {
  if (handler_) return handler_(frame);
  const std::size_t bytes = frame.payload.size() + sizeof frame;
  if (waiting_bytes_ + bytes > kMostWaiting) return;
  waiting_bytes_ += bytes;
  waiting_.push_back(frame);
}

}  // namespace cay::runtime
