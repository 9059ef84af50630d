#include "model/command.h"

namespace cay {

std::string_view to_string(CommandState state) {
  switch (state) {
    case CommandState::kRunning: return "running";
    case CommandState::kExited: return "exited";
    case CommandState::kSignalled: return "signalled";
    case CommandState::kTimedOut: return "timed_out";
    case CommandState::kIdleKilled: return "idle_killed";
    case CommandState::kOomKilled: return "oom_killed";
    case CommandState::kKilled: return "killed";
    case CommandState::kLost: return "lost";
  }
  return "lost";
}

int shell_exit_code(const CommandEnd& end) {
  constexpr int kTimedOut = 124;
  constexpr int kOurFailure = 125;
  constexpr int kSignalBase = 128;
  switch (end.state) {
    case CommandState::kExited: return end.exit_code;
    case CommandState::kTimedOut: return kTimedOut;
    case CommandState::kRunning:
    case CommandState::kLost: return kOurFailure;
    case CommandState::kSignalled:
    case CommandState::kIdleKilled:
    case CommandState::kOomKilled:
    case CommandState::kKilled: return kSignalBase + end.signal;
  }
  return kOurFailure;
}

std::size_t command_bytes(const CommandSpec& spec) {
  constexpr std::size_t kEach = 1 + sizeof(char*);
  std::size_t total = 0;
  for (const std::string& argument : spec.argv) total += argument.size() + kEach;
  for (const auto& [key, value] : spec.run.env) total += key.size() + 1 + value.size() + kEach;
  return total;
}

}  // namespace cay
