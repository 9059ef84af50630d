#include "api/daytona/toolbox/ends.h"

#include "api/daytona/toolbox/errors.h"

namespace cay::api::daytona {
namespace {

// The word of core for a caller's own kill.
constexpr std::string_view kByClient = "client";

}  // namespace

Result<int> exit_code_of(const CommandEnd& end) {
  switch (end.state) {
    case CommandState::kExited:
    case CommandState::kSignalled:
    case CommandState::kOomKilled: return shell_exit_code(end);
    case CommandState::kKilled:
      if (end.by == kByClient) return shell_exit_code(end);
      return vendor_error(kSandboxStopped, "the command ended by the " + end.by +
                                               ", before its own end: it has no exit code");
    case CommandState::kTimedOut:
    case CommandState::kIdleKilled:
      return vendor_error(kExecutionTimeout, "command execution timeout");
    case CommandState::kRunning:
    case CommandState::kLost: break;
  }
  return vendor_error(kCommandLost, "Cay lost the command, which is not its own failure: " +
                                        (end.reason.empty() ? "no reason is known" : end.reason));
}

Result<std::optional<int>> exit_code_of(const Evaluation& evaluation) {
  if (evaluation.state == EvaluationState::kRunning) return std::optional<int>();
  if (evaluation.exit_code) return std::optional(static_cast<int>(*evaluation.exit_code));
  if (evaluation.driver) {
    const CommandEnd& end = evaluation.driver->end;
    if (!evaluation.begun) {
      return vendor_error(kNeverRan,
                          "the session's shell ended before it came to this command: it never ran");
    }
    if (end.state == CommandState::kKilled && end.by == kByClient) {
      return vendor_error(kSessionEnded,
                          "the session was ended before the command: it has no exit code");
    }
    CAY_TRY(const int code, exit_code_of(end));
    return std::optional(code);
  }
  if (evaluation.state == EvaluationState::kLost) {
    return vendor_error(kOutputDropped,
                        "the session printed so much that Cay dropped this command's end: its exit "
                        "code is not known");
  }
  // A call that never came to its shell has no code: jobs hold too many outputs.
  constexpr int kFailed = 1;
  return std::optional(evaluation.state == EvaluationState::kOk ? 0 : kFailed);
}

std::string dropped_line(const std::string& bytes) {
  return "\n[cay: " + bytes + " bytes of output were dropped]\n";
}

}  // namespace cay::api::daytona
