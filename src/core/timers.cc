#include "core/timers.h"

#include <algorithm>

#include "core/removal_reason.h"

namespace cay::core {
namespace {

constexpr LifeMillis kSecond = 1000;
constexpr LifeMillis kOwedEvery =
    30'000;  // a removal or a write that failed; the use of held sandboxes
constexpr LifeMillis kLongestNap = 60'000;  // the wall clock may jump while we sleep

// When its idle time is over; nothing: never, or it is in use.
std::optional<LifeMillis> idle_at(const Entry& entry) {
  if (entry.row.state != SandboxState::kReady || entry.stopping || entry.holds > 0)
    return std::nullopt;
  if (entry.row.idle_ttl_s == 0) return std::nullopt;
  return std::max(entry.active_mark + entry.row.idle_ttl_s * kSecond, entry.awake_until);
}

struct Deletion {
  LifeMillis at;
  std::string_view why;
};

std::optional<Deletion> deletion_of(const Entry& entry, std::optional<LifeMillis> not_before) {
  std::optional<Deletion> due;
  if (entry.rests() && entry.row.marks.stopped && entry.row.delete_after_stop_s != 0) {
    due = {*entry.row.marks.stopped + entry.row.delete_after_stop_s * kSecond, kRemovedAfterStop};
  }
  if (entry.row.lifetime_s != 0) {  // whatever it does
    const LifeMillis end = entry.row.marks.created + entry.row.lifetime_s * kSecond;
    if (!due || end < due->at) due = {end, kRemovedByLifetime};
  }
  if (due && not_before) due->at = std::max(due->at, *not_before);
  return due;
}

bool owes(const Entry& entry) {
  return entry.unsaved || entry.holds > 0 ||
         (entry.host != nullptr && entry.row.state == SandboxState::kDeleting && !entry.removal);
}

}  // namespace

Timers::Timers(std::shared_ptr<Registry> registry, Lifecycle& lifecycle, Jobs& jobs)
    : registry_(std::move(registry)),
      lifecycle_(lifecycle),
      jobs_(jobs),
      poked_(std::make_shared<Event>(jobs.loop())) {}

Task<void> Timers::run() {
  const auto poked = poked_;
  while (!stopped_) {
    sweep();
    const auto nap = next_due();
    auto until = Event::kNever;
    next_sweep_.reset();
    if (nap) {
      const LifeMillis wait = std::clamp<LifeMillis>(*nap, 1, kLongestNap);
      next_sweep_ = registry_->time().now() + wait;
      until = deadline_in(Millis(wait));
    }
    co_await poked->wait_until(until);
  }
  co_return Result<void>();
}

void Timers::rests(const Entry& entry) {
  const auto due = due_at(entry, registry_->time().now());
  if (due && (!next_sweep_ || *due < *next_sweep_)) poke();
}

void Timers::stop() {
  stopped_ = true;
  poked_->set();
}

void Timers::sweep() {
  registry_->time().keep();  // first: it may take back what a wrong clock had added
  const LifeMillis now = registry_->time().now();
  const bool owed_turn = now - swept_at_ >= kOwedEvery || now < swept_at_;
  if (owed_turn) swept_at_ = now;
  for (const auto& entry : registry_->entries()) {
    if (entry->erased) continue;
    if (owed_turn) {
      if (entry->unsaved) registry_->rewrite(*entry);
      if (entry->holds > 0) registry_->touch(*entry);
      if (entry->host != nullptr && entry->row.state == SandboxState::kDeleting && !entry->removal)
        begin(entry, removal(entry, {}));
    }
    sweep(entry, now);
  }
}

void Timers::sweep(const std::shared_ptr<Entry>& entry, LifeMillis now) {
  if (entry->host == nullptr) return;  // nothing can be done about it
  if (entry->removing() || entry->boot || now < entry->timer_retry_at) return;
  const auto idle = idle_at(*entry);
  const auto gone = deletion_of(*entry, registry_->time().deletes_from());
  if (gone && gone->at <= now) {
    begin(entry, removal(entry, gone->why));
  } else if (idle && *idle <= now) {
    begin(entry, idle_stop(entry));
  }
}

void Timers::begin(const std::shared_ptr<Entry>& entry, Task<void> work) {
  if (entry->timed) return;
  entry->timed = true;
  jobs_.spawn(timed(entry, std::move(work)));
}

Task<void> Timers::timed(std::shared_ptr<Entry> entry, Task<void> work) {
  auto done = co_await std::move(work);
  entry->timed = false;
  if (!done) entry->timer_retry_at = registry_->time().now() + kOwedEvery;
  poke();
  co_return done;
}

Task<void> Timers::idle_stop(std::shared_ptr<Entry> entry) {
  CAY_CO_TRY(const bool awake, co_await kept_awake(entry));
  if (awake) co_return Result<void>();
  // Checked again once its turn has come: it may have been used meanwhile.
  std::function<bool()> still = [this, entry] {
    const auto idle = idle_at(*entry);
    return idle && *idle <= registry_->time().now();
  };
  auto stopped = co_await lifecycle_.stop(entry, kStoppedIdle, std::move(still));
  co_return stopped;
}

Task<bool> Timers::kept_awake(std::shared_ptr<Entry> entry) {
  if (!entry->row.commands_keep_awake || !entry->live) co_return false;
  const auto live = entry->live;
  const LifeMillis asked = registry_->time().now();
  CAY_CO_TRY(const SandboxStats stats, co_await live->stats());
  if (stats.quiet_ms == 0) {
    registry_->touch(*entry);
    co_return true;
  }
  if (!stats.quiet_ms) co_return false;
  entry->active_mark = std::max(entry->active_mark, asked - *stats.quiet_ms);
  co_return asked < entry->active_mark + entry->row.idle_ttl_s* kSecond;
}

Task<void> Timers::removal(std::shared_ptr<Entry> entry, std::string_view why) {
  auto removed = co_await lifecycle_.remove(entry, why);
  co_return removed;
}

std::optional<LifeMillis> Timers::due_at(const Entry& entry, LifeMillis now) const {
  if (entry.erased) return std::nullopt;
  std::optional<LifeMillis> due;
  const auto sooner = [&](std::optional<LifeMillis> at) {
    if (at && (!due || *at < *due)) due = at;
  };
  const auto not_before_retry = [&](std::optional<LifeMillis> at) {
    return at ? std::optional(std::max(*at, entry.timer_retry_at)) : at;
  };
  if (entry.host != nullptr && !entry.removing() && !entry.boot && !entry.timed) {
    sooner(not_before_retry(idle_at(entry)));
    if (const auto gone = deletion_of(entry, registry_->time().deletes_from()))
      sooner(not_before_retry(gone->at));
  }
  if (owes(entry)) sooner(now + kOwedEvery);
  return due;
}

std::optional<LifeMillis> Timers::next_due() const {
  const LifeMillis now = registry_->time().now();
  std::optional<LifeMillis> next;
  for (const auto& entry : registry_->entries()) {
    const auto due = due_at(*entry, now);
    if (due && (!next || *due < *next)) next = due;
  }
  if (!next) return std::nullopt;
  return std::max<LifeMillis>(*next - now, 0);
}

}  // namespace cay::core
