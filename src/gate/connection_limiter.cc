#include "gate/connection_limiter.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cay::gate {

ConnectionLimiter::ConnectionLimiter(GateContext& context, std::vector<Descriptor*> listeners)
    : context_(context), listeners_(std::move(listeners)) {
  shape_listeners();
}

ConnectionLimiter::Place::Place(ConnectionLimiter& limiter, Buffers chosen)
    : buffers(chosen),
      limiter_(limiter),
      own_(limiter.connections_),
      of_all_(limiter.context_.connections),
      cost_(limiter.context_.memory.cost(chosen)) {
  limiter_.held_memory_ += cost_;
  limiter_.context_.held_memory += cost_;
  limiter_.shape_listeners();
}

ConnectionLimiter::Place::~Place() {
  limiter_.held_memory_ -= cost_;
  limiter_.context_.held_memory -= cost_;
  limiter_.shape_listeners();
}

std::shared_ptr<const ConnectionLimiter::Place> ConnectionLimiter::admit(const char*& reason) {
  if (!new_ones_.take(std::chrono::steady_clock::now())) {
    reason = "too_many_new_connections";
    return nullptr;
  }
  reason = "too_many_connections";
  if (!has_room(connections_, context_.connections, context_.most_connections, context_.sandboxes))
    return nullptr;
  const auto buffers = context_.memory.fit(held_memory_, context_.held_memory, context_.sandboxes);
  return buffers ? std::make_shared<const Place>(*this, *buffers) : nullptr;
}

bool ConnectionLimiter::has_room(std::size_t own, std::size_t all, std::size_t most,
                                 std::size_t sandboxes) {
  if (own >= kMostConnections || all >= most) return false;
  return all < most - most / 4 || own < most / 4 / std::max<std::size_t>(sandboxes, 1);
}

// A client sends by the window that the listener announces, before the gate accepts.
void ConnectionLimiter::shape_listeners() {
  const Buffers next = context_.memory.fit(held_memory_, context_.held_memory, context_.sandboxes)
                           .value_or(Buffers::kTiny);
  if (listening_ == next) return;
  listening_ = next;
  for (Descriptor* one : listeners_) {
    set_buffers(one->native_handle(), SocketMemory::inside(next));
  }
}

}  // namespace cay::gate
