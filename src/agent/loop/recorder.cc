#include "agent/loop/recorder.h"

namespace cay::agent {

Result<std::unique_ptr<Recorder>> Recorder::open(std::shared_ptr<ThreadLog> log,
                                                 std::string thread) {
  CAY_CHECK(log->lease(thread));
  std::unique_ptr<Recorder> made(new Recorder(std::move(log), std::move(thread)));
  CAY_CHECK(made->reload());
  return made;
}

Result<void> Recorder::record(std::string type, codec::json::object data) {
  CAY_TRY(const auto event, log_->append(thread_, std::move(type), std::move(data)));
  apply(state_, event);
  observer_->on_event(thread_, event);
  return {};
}

Result<void> Recorder::reload() {
  CAY_TRY(const auto events, log_->events(thread_));
  state_ = replay(events);
  return {};
}

}  // namespace cay::agent
