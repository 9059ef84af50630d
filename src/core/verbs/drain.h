// Drain: empties the host before maintenance.
#pragma once
#include <cstdint>

#include "async/task.h"
#include "model/principal.h"

namespace cay::core {

struct DrainStatus {
  bool draining = false;
  std::uint32_t running_sandboxes = 0;
  std::uint32_t running_commands = 0;
  std::uint32_t silent_sandboxes = 0;  // running, but not counted: their keepers did not answer
};

// For the operator's key alone (kPermissionDenied, not_operator), and about all tenants.
class Drain {
 public:
  virtual ~Drain() = default;
  // While on, creates, starts, wakes and new commands fail with kUnavailable (draining). Off at
  // every start.
  virtual Task<DrainStatus> set(Principal who, bool draining) = 0;
  virtual Task<DrainStatus> status(Principal who) = 0;
  virtual Task<DrainStatus> stop_all(Principal who) = 0;
};

}  // namespace cay::core
