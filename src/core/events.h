// EventLog: core::Events over the journal; followers sleep until something is written.
#pragma once
#include <memory>

#include "core/registry.h"
#include "core/verbs/events.h"

namespace cay::core {

class EventLog : public Events {
 public:
  explicit EventLog(std::shared_ptr<Registry> registry);
  ~EventLog() override;

  Task<EventPage> read(Principal who, EventQuery query) override;
  Task<EventPage> follow(Principal who, EventQuery query, std::chrono::milliseconds wait) override;
  void end() override;
  bool ended() const override { return ended_->is_set(); }
  asio::awaitable<void> until_ended() override { return wait_for_end(ended_); }
  Event::Watch when_ended(std::function<void()> then) override {
    return ended_->when_set(std::move(then));
  }

 private:
  Result<EventPage> page(const Principal& who, EventQuery query);
  static asio::awaitable<void> wait_for_end(std::shared_ptr<Event> ended);

  std::shared_ptr<Registry> registry_;
  std::shared_ptr<Event> written_;  // followers may be unwound after this is gone
  std::shared_ptr<Event> ended_;
};

}  // namespace cay::core
