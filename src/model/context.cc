#include "model/context.h"

namespace cay {

std::string_view to_string(ContextEvent::Kind kind) {
  switch (kind) {
    case ContextEvent::Kind::kStdout: return "stdout";
    case ContextEvent::Kind::kStderr: return "stderr";
    case ContextEvent::Kind::kDisplay: return "display";
    case ContextEvent::Kind::kResult: return "result";
    case ContextEvent::Kind::kError: return "error";
    case ContextEvent::Kind::kBackground: return "background";
    case ContextEvent::Kind::kGap: return "gap";
    case ContextEvent::Kind::kUnreadable: return "unreadable";
  }
  return "";
}

std::string_view to_string(EvaluationState state) {
  switch (state) {
    case EvaluationState::kRunning: return "running";
    case EvaluationState::kOk: return "ok";
    case EvaluationState::kError: return "error";
    case EvaluationState::kInterrupted: return "interrupted";
    case EvaluationState::kTimedOut: return "timed_out";
    case EvaluationState::kLost: return "lost";
  }
  return "";
}

}  // namespace cay
