// Clock: time as a port, so that tests of timers do not sleep.
#pragma once
#include <chrono>
#include <cstdint>

namespace cay {

using Millis = std::chrono::milliseconds;
// Wall-clock milliseconds since 1970-01-01T00:00:00Z, as stored and shown.
using UnixMillis = std::int64_t;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual UnixMillis wall() const = 0;                                 // may jump
  virtual std::chrono::steady_clock::time_point steady() const = 0;    // never jumps
};

// The machine's clocks.
Clock& system_clock();

}  // namespace cay
