#include "core/events.h"

namespace cay::core {

EventLog::EventLog(std::shared_ptr<Registry> registry)
    : registry_(std::move(registry)),
      written_(std::make_shared<Event>(registry_->loop())),
      ended_(std::make_shared<Event>(registry_->loop())) {
  registry_->store().on_events([written = std::weak_ptr<Event>(written_)] {
    if (const auto event = written.lock()) event->notify();
  });
}

EventLog::~EventLog() { registry_->store().on_events(nullptr); }

Result<EventPage> EventLog::page(const Principal& who, EventQuery query) {
  if (!query.sandbox.empty()) {
    // The id is looked up first, so that a name that was changed or used again means no other
    // sandbox. A name without a sandbox is looked up as it was at the time.
    const auto entry = registry_->find(who, query.sandbox);
    if (entry) query.sandbox = (*entry)->row.id.get();
  }
  return registry_->store().events(who.tenant, query);
}

Task<EventPage> EventLog::read(Principal who, EventQuery query) {
  co_return page(who, std::move(query));
}

Task<EventPage> EventLog::follow(Principal who, EventQuery query, std::chrono::milliseconds wait) {
  const auto deadline = deadline_in(wait);
  const auto written = written_;
  const auto ended = ended_;
  const auto registry = registry_;
  for (;;) {
    auto got = page(who, query);
    if (!got) co_return got;
    if (!got->items.empty() || got->gap_begin != 0 || ended->is_set()) co_return got;
    query.after = got->next_after;  // what the filter left out need not be looked at again
    query.from_oldest = false;
    query.from_now = false;
    const auto more = co_await written->wait_until(deadline);
    if (!more) co_return got;
  }
}

void EventLog::end() {
  ended_->set();
  written_->notify();
}

asio::awaitable<void> EventLog::wait_for_end(std::shared_ptr<Event> ended) {
  co_await ended->wait();
}

}  // namespace cay::core
