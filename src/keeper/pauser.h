// Pauser: the requests PAUSE and RESUME. Starts under way are waited for, the clocks of commands
// stop, then everything is frozen; whoever asked is told when it stands still.
#pragma once
#include <functional>
#include <vector>

#include "keeper/commands.h"
#include "keeper/freezer.h"
#include "keeper/outbox.h"

namespace cay::keeper {

class Pauser {
 public:
  Pauser(Outbox& outbox, Commands& commands, Freezer& freezer)
      : outbox_(outbox), commands_(commands), freezer_(freezer) {}

  // Runs when a paused sandbox goes on.
  void on_resumed(std::function<void()> action) { on_resumed_ = std::move(action); }

  void pause(ReplyTo to);
  void resume(ReplyTo to);
  bool paused() const { return state_ == State::kPaused; }

 private:
  enum class State { kRunning, kWaitsForStarts, kFreezing, kPaused };
  void settle(const Result<void>& result);

  Outbox& outbox_;
  Commands& commands_;
  Freezer& freezer_;
  State state_ = State::kRunning;
  std::vector<ReplyTo> askers_;
  std::function<void()> on_resumed_;
};

}  // namespace cay::keeper
