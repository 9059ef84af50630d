// ConnectionLimiter limits the number, the rate and the socket memory of a sandbox's connections.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/token_bucket.h"
#include "gate/counted.h"
#include "gate/gate_context.h"
#include "gate/sockets.h"

namespace cay::gate {

class ConnectionLimiter {
 public:
  static constexpr std::size_t kMostConnections = 1024;
  static constexpr double kNewPerSecond = 200;         // once kMostConnections came at once
  static constexpr std::size_t kDescriptorsOfOne = 6;  // its two sockets, and a pipe each way

  // `listeners` are the sandbox's TCP listeners. They outlive the limiter.
  ConnectionLimiter(GateContext& context, std::vector<Descriptor*> listeners);

  // One connection's part of the limits, while it lives.
  class Place {
   public:
    Place(ConnectionLimiter& limiter, Buffers buffers);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();
    const Buffers buffers;

   private:
    ConnectionLimiter& limiter_;
    const Counted own_, of_all_;
    const std::uint64_t cost_;
  };

  // Returns a place for one more connection. Otherwise it returns null and sets `reason`.
  std::shared_ptr<const Place> admit(const char*& reason);

  // Whether one more connection may come. The last quarter of all is kept for sandboxes that have
  // less than their share of it. So one sandbox with many connections leaves descriptors to the
  // others.
  static bool has_room(std::size_t own, std::size_t all, std::size_t most, std::size_t sandboxes);

 private:
  void shape_listeners();

  GateContext& context_;
  const std::vector<Descriptor*> listeners_;
  std::size_t connections_ = 0;
  std::uint64_t held_memory_ = 0;
  std::optional<Buffers> listening_;  // what the listeners have
  TokenBucket new_ones_{kMostConnections, kNewPerSecond};
};

}  // namespace cay::gate
