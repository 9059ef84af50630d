#include "keeper/command_clocks.h"

namespace cay::keeper {

void CommandClocks::set(const wire::StartCommand& request) {
  timeout_ms_ = request.timeout_ms;
  idle_timeout_ms_ = request.idle_timeout_ms;
  kill_on_disconnect_ = request.kill_on_disconnect;
}

void CommandClocks::start() {
  running_ = true;
  if (timeout_ms_ > 0) {
    timeout_.start(loop_, timeout_ms_, [this] { kill_(KillCause::kTimeout, {}); }, paused_);
  }
  start_idle();
}

void CommandClocks::end() {
  running_ = false;
  timeout_.reset();
  idle_.reset();
  orphan_.reset();
}

void CommandClocks::reader_came() {
  ++readers_;
  orphaned_ = false;
  idle_.reset();
  orphan_.reset();
}

void CommandClocks::reader_left(bool orphaned) {
  --readers_;
  if (!running_ || readers_ > 0) return;
  start_idle();
  if (!kill_on_disconnect_) return;
  if (orphaned) {
    orphaned_ = true;
  } else {
    kill_(KillCause::kRequest, "disconnect");
  }
}

void CommandClocks::daemon_returned() {
  if (!orphaned_ || !running_ || readers_ > 0) return;
  orphan_ = loop_.after(grace_ms_, [this] { kill_(KillCause::kRequest, "disconnect"); });
}

void CommandClocks::start_idle() {
  if (idle_timeout_ms_ <= 0 || readers_ > 0) return;
  idle_.start(loop_, idle_timeout_ms_, [this] { kill_(KillCause::kIdle, {}); }, paused_);
}

void CommandClocks::pause() {
  paused_ = true;
  timeout_.pause();
  idle_.pause();
}

void CommandClocks::resume() {
  paused_ = false;
  timeout_.resume();
  idle_.resume();
}

}  // namespace cay::keeper
