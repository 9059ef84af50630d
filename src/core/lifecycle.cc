#include "core/lifecycle.h"

#include <algorithm>

#include "async/deadline.h"
#include "core/errors.h"
#include "core/removal_reason.h"

namespace cay::core {
namespace {

Task<void> turn_comes(std::shared_ptr<Entry> entry) {
  const auto turn = co_await entry->turn.lock();
  co_return Result<void>();
}

}  // namespace

asio::awaitable<bool> stop_ends(std::shared_ptr<Entry> entry, Event::Deadline deadline) {
  auto turn = turn_comes(std::move(entry));
  const auto come = co_await with_deadline(std::move(turn), left_until(deadline), "a stop");
  co_return come.has_value();
}

Task<void> Lifecycle::stop(std::shared_ptr<Entry> entry, std::string_view why,
                           std::function<bool()> still) {
  CAY_CO_CHECK(entry->check_runtime());
  if (entry->removing()) co_return not_ready(entry->row.name, "it is being deleted");
  if (entry->boot) {
    const BootKind kind = entry->boot->kind;
    if (kind == BootKind::kFirst || kind == BootKind::kEphemeral) {
      co_return not_ready(entry->row.name, "it is being made; wait for it, or delete it");
    }
    entry->boot->give_up(
        {Code::kCancelled, "stopped_while_starting", "it was stopped while it started", 0});
  }
  auto stopped =
      co_await jobs_.finish<void>(stop_job(std::move(entry), std::string(why), std::move(still)));
  co_return stopped;
}

Task<void> Lifecycle::stop_job(std::shared_ptr<Entry> entry, std::string why,
                               std::function<bool()> still) {
  auto turn = co_await entry->turn.lock();
  if (entry->erased) co_return sandbox_not_found(entry->row.name);
  if (entry->removing()) co_return not_ready(entry->row.name, "it is being deleted");
  if (entry->row.state == SandboxState::kStopped) co_return Result<void>();
  if (still && !still()) co_return Result<void>();
  entry->stopping = true;
  note(stops_in_flight_.begin(entry->row.id, why));
  if (registry_->last_look) {
    auto looking = registry_->last_look(entry);
    auto looked = co_await std::move(looking);
    if (!looked) jobs_.warn("usage of " + entry->row.name + ": " + looked.error().message);
  }
  auto stopped = co_await entry->host->runtime.stop(entry->row.id);
  entry->stopping = false;
  if (!stopped && entry->runs()) {
    note(stops_in_flight_.over(entry->row.id));
    co_return std::move(stopped).error().while_doing("stop sandbox " + entry->row.name);
  }
  if (!stopped) {
    // It has ended, which was the request. Its remains go when the launcher can be reached.
    jobs_.warn("sandbox " + entry->row.name +
               " is stopped, and not yet cleared away: " + stopped.error().message);
    jobs_.spawn(sweep_up(entry));
  }
  rest(*entry, std::move(why));
  note(stops_in_flight_.over(entry->row.id));
  co_return Result<void>();
}

// A stop that could not be written down is no worse: a daemon that is killed in its middle leaves
// it half done.
void Lifecycle::note(Result<void> written) {
  if (!written) jobs_.warn("a stop is not on record: " + written.error().message);
}

void Lifecycle::rest(Entry& entry, std::string why) {
  if (entry.row.state == SandboxState::kStopped) return;
  entry.live.reset();
  entry.room.reset();
  Sandbox next = entry.row;
  // A failed one stopped running when it failed: its time counts from then.
  if (entry.runs() || !next.stopped_at) registry_->note_stop(next);
  next.state = SandboxState::kStopped;
  next.reason = std::move(why);
  registry_->record(entry, std::move(next));
}

Task<void> Lifecycle::remove(std::shared_ptr<Entry> entry, std::string_view why, std::string by) {
  CAY_CO_CHECK(entry->check_runtime());
  auto removal = entry->removal;
  if (!removal) {
    if (entry->erased) co_return sandbox_not_found(entry->row.name);
    Sandbox next = entry->row;
    if (next.state != SandboxState::kDeleting) next.reason = why;
    next.state = SandboxState::kDeleting;
    CAY_CO_CHECK(registry_->save(*entry, std::move(next), by));
    if (!by.empty()) entry->removed_by = std::move(by);
    removal = std::make_shared<Outcome<void>>(jobs_.loop());
    entry->removal = removal;
    if (entry->boot) {
      entry->boot->give_up(
          {Code::kCancelled, "deleted_while_starting", "it was deleted while it started", 0});
    }
    jobs_.spawn(remove_job(std::move(entry)));
  }
  co_await removal->done.wait();
  co_return removal->result;
}

Task<void> Lifecycle::remove_job(std::shared_ptr<Entry> entry) {
  auto turn = co_await entry->turn.lock();
  if (registry_->last_look && entry->live) {
    auto looking = registry_->last_look(entry);
    auto looked = co_await std::move(looking);
    if (!looked) jobs_.warn("usage of " + entry->row.name + ": " + looked.error().message);
  }
  entry->live.reset();
  auto result = co_await entry->host->runtime.destroy(entry->row.id);
  const std::string why(why_removed(entry->row.reason));
  if (result && entry->row.reason != why) {  // the last event has the row's reason
    Sandbox next = entry->row;
    next.reason = why;
    registry_->record(*entry, std::move(next));
  }
  if (result) result = registry_->erase(*entry);
  if (!result) {
    Sandbox next = entry->row;
    // The runtime reports an end that nobody needs to wait for.
    const bool goes_on = result.error().reason == "removal_takes_long";
    next.reason =
        removal_held_up(why, (goes_on ? "is being removed: " : "could not be removed yet: ") +
                                 result.error().message);
    registry_->record(*entry, std::move(next));  // stays kDeleting: the timers try again
    result = std::move(result).error().while_doing("delete sandbox " + entry->row.name);
  }
  auto removal = std::move(entry->removal);
  entry->removal.reset();
  removal->result = std::move(result);
  removal->done.set();
  co_return Result<void>();
}

void Lifecycle::died(const SandboxDeath& death) {
  const auto entry = registry_->by_id(death.id);
  if (!entry) return;
  if (entry->boot) {
    entry->death = death.reason;  // the boot looks at it when the runtime returns
    return;
  }
  if (entry->removing() || !entry->runs()) return;
  if (entry->stopping)
    return rest(*entry, stops_in_flight_.why(
                            death.id));  // whatever else is still to be done: nothing of it runs
  entry->live.reset();
  entry->room.reset();
  Sandbox next = entry->row;
  next.state = SandboxState::kFailed;
  next.reason = death.reason;
  registry_->note_stop(next);
  registry_->record(*entry, std::move(next));
  jobs_.spawn(sweep_up(entry));
}

// Removes the remains of a dead sandbox (groups, mounts). Its disk stays.
Task<void> Lifecycle::sweep_up(std::shared_ptr<Entry> entry) {
  auto turn = co_await entry->turn.lock();
  if (entry->erased || entry->removing() || !entry->rests()) co_return Result<void>();
  auto stopped = co_await entry->host->runtime.stop(entry->row.id);
  co_return stopped;
}

}  // namespace cay::core
