// Events in order, numbered without holes for each tenant (model/event.h).
#pragma once
#include <chrono>
#include <functional>

#include "async/event.h"
#include "async/task.h"
#include "model/event.h"
#include "model/principal.h"

namespace cay::core {

class Events {
 public:
  virtual ~Events() = default;
  // kOutOfRange (event_ahead). `query.sandbox`: id or name.
  virtual Task<EventPage> read(Principal who, EventQuery query) = 0;
  // Like list(), and waits up to `wait` until there is an item or a gap to report.
  virtual Task<EventPage> follow(Principal who, EventQuery query,
                                 std::chrono::milliseconds wait) = 0;
  // From now on follow() does not wait, and ended() is true: the daemon ends.
  virtual void end() = 0;
  virtual bool ended() const = 0;
  // Returns at the end of the daemon, for streams that have a last message. May outlive this
  // object.
  virtual asio::awaitable<void> until_ended() = 0;
  // Calls `then` on the loop at the end of the daemon, unless what is returned has gone by then.
  virtual Event::Watch when_ended(std::function<void()> then) = 0;
};

}  // namespace cay::core
