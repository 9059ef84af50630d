// While an InterruptScope lives, Ctrl-C interrupts an evaluation in the sandbox. Other signals end
// this program.
#pragma once
#include <string>

#include "cay/contexts.h"
#include "cli/signals.h"

namespace cay::cli {

class InterruptScope {
 public:
  // A second Ctrl-C interrupts again, or ends this program.
  enum class Again { kInterrupts, kLeaves };

  // All that is given outlives this.
  InterruptScope(Signals& signals, const sdk::Contexts& contexts, const std::string& context,
                 Again again);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  Signals& signals_;
};

}  // namespace cay::cli
