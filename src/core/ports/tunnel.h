// The tunnel port: one TCP connection to what listens on a sandbox's own loopback.
#pragma once
#include "async/task.h"

namespace cay::core {

// A connection into a sandbox. It fails kCancelled (connection_reset) if the program inside broke
// it, and kLost if the sandbox or its keeper is gone. It fails kUnavailable (link_lost) if the
// daemon's connection to the keeper is gone.
class Tunnel : public ByteStream {
 public:
  // Now: what waits in it, and every later call, fails with `why`.
  virtual void break_off(Error why) = 0;
};

}  // namespace cay::core
