// The tunnel port: one TCP connection to what listens on a sandbox's own loopback.
#pragma once
#include "async/task.h"

namespace cay::core {

// A connection into a sandbox. Errors: kCancelled (connection_reset) the program inside broke the
// connection; kLost the sandbox or its keeper is gone; kUnavailable (link_lost) the daemon's
// connection to the keeper is.
class Tunnel : public ByteStream {
 public:
  // Now: what waits in it, and every later call, fails with `why`.
  virtual void break_off(Error why) = 0;
};

}  // namespace cay::core
