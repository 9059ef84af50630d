#include "keeper/pauser.h"

#include <utility>

namespace cay::keeper {

void Pauser::pause(ReplyTo to) {
  if (state_ == State::kPaused) return outbox_.ok(to);
  askers_.push_back(to);
  if (state_ != State::kRunning) return;
  state_ = State::kWaitsForStarts;
  commands_.hold([this] {
    state_ = State::kFreezing;
    freezer_.freeze([this](Result<void> result) { settle(result); });
  });
}

void Pauser::settle(const Result<void>& result) {
  state_ = result ? State::kPaused : State::kRunning;
  if (!result) commands_.let_go();
  for (const ReplyTo to : std::exchange(askers_, {})) {
    if (result) {
      outbox_.ok(to);
    } else {
      outbox_.fail(to, result.error());
    }
  }
}

void Pauser::resume(ReplyTo to) {
  if (state_ == State::kWaitsForStarts) {
    settle(
        Error{Code::kCancelled, "resumed", "the sandbox was resumed while it was being paused", 0});
  } else if (state_ != State::kRunning) {
    freezer_.thaw();
    commands_.let_go();
    state_ = State::kRunning;
    if (on_resumed_) on_resumed_();
  }
  outbox_.ok(to);
}

}  // namespace cay::keeper
