// Cut: runs a coroutine that others may cut short. It costs less than a race of two coroutines,
// since nobody waits for the cut: whoever makes it calls now().
#pragma once
#include <memory>

#include "async/task.h"

namespace cay {

// For one run(). Belongs to one loop.
class Cut {
 public:
  Cut();

  // Runs `body` and throws what it threw: operation_aborted if it was cut short, or if the caller
  // was cancelled, which cancels it too.
  asio::awaitable<void> run(asio::awaitable<void> body);
  // Cancels what runs. Nothing runs: nothing happens.
  void now();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cay
