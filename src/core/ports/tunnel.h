// The tunnel port: one TCP connection to what listens on a sandbox's own loopback.
#pragma once
#include <cstdint>

#include "async/task.h"

namespace cay::core {

// Destroying one that is not over resets the connection. read() and write() may overlap each other;
// each has one caller at a time. Errors: kCancelled (connection_reset) the program inside broke the
// connection; kLost the sandbox or its keeper is gone; kUnavailable (link_lost) it is lost with the
// daemon's connection to the keeper.
class Tunnel {
 public:
  virtual ~Tunnel() = default;
  // The next bytes, at most 64 KiB; none: the program inside will send no more.
  virtual Task<Bytes> read() = 0;
  // Completes when all bytes are on their way to the program: awaiting it is back-pressure.
  virtual Task<void> write(Bytes bytes) = 0;
  // No more will be written: the program reads to its end. It may go on sending.
  virtual Task<void> shut_write() = 0;
};

}  // namespace cay::core
