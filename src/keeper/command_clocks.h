// CommandClocks: kills a running command after its timeout, or after its idle timeout without
// readers. It also kills a command whose readers were lost with the daemon and do not come back.
// It counts the readers.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "keeper/kill_record.h"
#include "keeper/loop.h"
#include "keeper/pausable_timer.h"
#include "wire/messages.h"

namespace cay::keeper {

class CommandClocks {
 public:
  using Kill = std::function<void(KillCause, const std::string& by)>;

  // `kill` runs when a time is over. `grace_ms`: how long lost readers have to come back.
  CommandClocks(Loop& loop, std::int64_t grace_ms, Kill kill)
      : loop_(loop), grace_ms_(grace_ms), kill_(std::move(kill)) {}

  void set(const wire::StartCommand& request);
  // From the command's start until its leader's end.
  void start();
  void end();

  void reader_came();
  // `orphaned`: the daemon went, not the reader.
  void reader_left(bool orphaned);
  int readers() const { return readers_; }
  // The grace time of lost readers begins anew with the next daemon.
  void daemon_left() { orphan_.reset(); }
  void daemon_returned();
  // Timeout and idle timeout stand still, or run on.
  void pause();
  void resume();

 private:
  void start_idle();

  Loop& loop_;
  std::int64_t grace_ms_;
  Kill kill_;
  std::int64_t timeout_ms_ = 0;
  std::int64_t idle_timeout_ms_ = -1;
  bool kill_on_disconnect_ = false;
  bool running_ = false;
  bool paused_ = false;
  int readers_ = 0;
  bool orphaned_ = false;  // the last reader was lost with the daemon
  PausableTimer timeout_, idle_;
  Timer orphan_;
};

}  // namespace cay::keeper
