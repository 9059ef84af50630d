#include "cli/interrupt_scope.h"

#include <csignal>

#include "cay/client.h"

namespace cay::cli {

InterruptScope::InterruptScope(Signals& signals, const sdk::Contexts& contexts,
                               const std::string& context, Again again)
    : signals_(signals) {
  signals_.on([&contexts, &context, again, interrupted = false](int signal) mutable {
    if (signal == SIGWINCH) return;
    if (signal != SIGINT || (interrupted && again == Again::kLeaves)) end_by_signal(signal);
    interrupted = true;
    try {
      contexts.interrupt(context);
    } catch (const ApiError&) {
      end_by_signal(signal);
    }
  });
}

InterruptScope::~InterruptScope() { signals_.on({}); }

}  // namespace cay::cli
