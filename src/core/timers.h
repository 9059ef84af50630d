// Timers: idle stop, deletion after the stop, the end of a lifetime, and what the store or the
// runtime still owes. One coroutine for all sandboxes; it sleeps until the next is due.
#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "core/lifecycle.h"
#include "core/registry.h"

namespace cay::core {

class Timers {
 public:
  Timers(std::shared_ptr<Registry> registry, Lifecycle& lifecycle, Jobs& jobs);

  // Runs until stop(). Spawned once, when the core opens.
  Task<void> run();
  void stop();
  void poke() { poked_->notify(); }  // something may be due earlier
  // As poke(), of one sandbox whose idle time begins. This comes after each request, and a sweep
  // looks at all sandboxes, so it wakes no one if the next sweep is early enough.
  void rests(const Entry& entry);

  // Begins what is due now. Its work goes on as jobs.
  void sweep();
  // Milliseconds until the next sweep has work; nothing: until poked.
  std::optional<std::int64_t> next_due() const;

 private:
  void sweep(const std::shared_ptr<Entry>& entry, LifeMillis now);
  std::optional<LifeMillis> due_at(const Entry& entry, LifeMillis now) const;
  void begin(const std::shared_ptr<Entry>& entry, Task<void> work);
  Task<void> timed(std::shared_ptr<Entry> entry, Task<void> work);
  Task<void> idle_stop(std::shared_ptr<Entry> entry);
  // Whether commands that nobody reads keep it awake; then its idle time counts from their end.
  Task<bool> kept_awake(std::shared_ptr<Entry> entry);
  // `why`: core/removal_reason.h; empty: it is being deleted already.
  Task<void> removal(std::shared_ptr<Entry> entry, std::string_view why);

  std::shared_ptr<Registry> registry_;
  Lifecycle& lifecycle_;
  Jobs& jobs_;
  std::shared_ptr<Event> poked_;  // run() may be unwound after this is gone
  bool stopped_ = false;
  LifeMillis swept_at_ = 0;
  std::optional<LifeMillis> next_sweep_;  // while run() waits for it; nothing: for a poke
};

}  // namespace cay::core
