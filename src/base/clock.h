// Clock: time as a port, so that tests of timers do not sleep.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace cay {

using Millis = std::chrono::milliseconds;
// Wall-clock milliseconds since 1970-01-01T00:00:00Z, as stored and shown.
using UnixMillis = std::int64_t;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual UnixMillis wall() const = 0;                               // may jump
  virtual std::chrono::steady_clock::time_point steady() const = 0;  // never jumps
  // Time since the host booted, its sleep included; never jumps. It means something with boot_id()
  // only.
  virtual Millis since_boot() const = 0;
  virtual std::string boot_id() const = 0;  // another one after each boot of the host
};

// The machine's clocks.
Clock& system_clock();

}  // namespace cay
