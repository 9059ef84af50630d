// Recorder: writes a thread's events and keeps the state that follows from them.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "agent/loop/agent.h"
#include "agent/threads/log.h"
#include "agent/threads/replay.h"
#include "base/result.h"

namespace cay::agent {

// Holds the thread's lease until it is destroyed.
class Recorder {
 public:
  // Takes the lease and reads the thread. Fails as ThreadLog::lease.
  static Result<std::unique_ptr<Recorder>> open(std::shared_ptr<ThreadLog> log, std::string thread);
  ~Recorder() { log_->release(thread_); }
  Recorder(const Recorder&) = delete;

  // Appends the event, applies it to the state, and shows it to the observer.
  Result<void> record(std::string type, codec::json::object data);
  // Reads the state once more from the log: after a `rewound`.
  Result<void> reload();

  const ThreadState& state() const { return state_; }
  const std::string& thread() const { return thread_; }
  Observer& observer() { return *observer_; }
  // Null: nobody observes.
  void observe(Observer* observer) { observer_ = observer == nullptr ? &nobody_ : observer; }

 private:
  Recorder(std::shared_ptr<ThreadLog> log, std::string thread)
      : log_(std::move(log)), thread_(std::move(thread)) {}

  std::shared_ptr<ThreadLog> log_;
  std::string thread_;
  ThreadState state_;
  Observer nobody_;
  Observer* observer_ = &nobody_;
};

}  // namespace cay::agent
