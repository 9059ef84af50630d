#include "keeper/kill_record.h"

#include <signal.h>

#include <algorithm>

#include "keeper/command_state.h"

namespace cay::keeper {

void KillRecord::killed(KillCause cause, const std::string& by, std::uint32_t oom_kills) {
  if (was_killed()) return;
  cause_ = cause;
  by_ = by;
  oom_at_kill_ = oom_kills;
}

void KillRecord::signalled(int signal, const std::string& by) {
  const auto same = [signal](const auto& sent) { return sent.first == signal; };
  if (std::none_of(sent_.begin(), sent_.end(), same)) sent_.emplace_back(signal, by);
}

void KillRecord::classify(const Exit& exit, Fate fate, wire::CommandMsg& record) const {
  const auto set = [&record](CommandState state) {
    record.state = static_cast<std::uint8_t>(state);
  };
  if (!exit.signalled) {
    set(CommandState::kExited);
    record.exit_code = exit.value;
    return;
  }
  record.signal = exit.value;
  set(CommandState::kSignalled);
  if (exit.value == SIGKILL) {
    if (fate == Fate::kVictim) return set(CommandState::kOomKilled);
    // The leader was alive when our signal was sent. If the kernel does not name its victim, a kill
    // for memory since then leaves a doubt, and then the group's count is believed.
    const bool ours = was_killed() && (fate == Fate::kSpared || record.oom_kills == oom_at_kill_);
    if (ours && cause_ == KillCause::kTimeout) return set(CommandState::kTimedOut);
    if (ours && cause_ == KillCause::kIdle) return set(CommandState::kIdleKilled);
    if (ours && cause_ == KillCause::kInputLost) {
      record.signal = 0;
      record.reason =
          "input lost: the daemon ended before all of the command's input was written, so it was "
          "ended";
      return set(CommandState::kLost);
    }
    if (ours) {
      record.by = by_;
      return set(CommandState::kKilled);
    }
    if (fate == Fate::kUnknown) return set(CommandState::kOomKilled);
  }
  for (const auto& [signal, by] : sent_) {
    if (signal != exit.value) continue;
    record.by = by;
    return set(CommandState::kKilled);
  }
}

}  // namespace cay::keeper
