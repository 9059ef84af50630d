// Pulse: shows the guardian that its worker still goes round its loop, and the worker that its
// guardian lives. A byte goes each way over a pair of sockets. The worker begins when it is up.
#pragma once
#include <cstdint>

#include "base/unique_fd.h"

namespace cay::launcher {

// The guardian's end.
class Pulse {
 public:
  static constexpr int kPatience = 4;          // beats without an answer
  static constexpr int kPatienceAtFirst = 20;  // before its first word: it adopts all that it finds

  explicit Pulse(UniqueFd socket) : socket_(std::move(socket)) {}

  // Called at each beat: sends a byte if the last one was answered. Returns false if too many beats
  // went by without an answer. It counts beats and no time, so that a host that was asleep, which
  // beats once, does not count its worker as hung.
  bool beat();

 private:
  UniqueFd socket_;
  bool up_ = false;  // it has spoken once
  bool asked_ = false;
  int missed_ = 0;
};

// The worker's end: answers a beat. Returns false if the guardian is gone.
bool answer_pulse(int socket);

}  // namespace cay::launcher
