#include "core/pause.h"

#include "async/deadline.h"
#include "core/capable.h"
#include "core/errors.h"

namespace cay::core {
namespace {

constexpr Millis kAnswerLimit{2'000};  // of one question; until the answer the row's state stands
constexpr Millis kAskAgain{1'000};
constexpr const char* kHeldStill = "still";

}  // namespace

Task<void> Pauses::pause(std::shared_ptr<Entry> entry) {
  CAY_CO_CHECK(entry->check_runtime());
  CAY_CO_CHECK(check_pause(*entry));
  auto done = co_await jobs_.finish<void>(change(std::move(entry), To::kPaused));
  co_return done;
}

Task<void> Pauses::resume(std::shared_ptr<Entry> entry) {
  auto done = co_await jobs_.finish<void>(change(std::move(entry), To::kReady));
  co_return done;
}

Task<void> Pauses::change(std::shared_ptr<Entry> entry, To to) {
  auto turn = co_await entry->turn.lock();
  if (entry->erased) co_return sandbox_not_found(entry->row.name);
  if (entry->removing()) co_return not_ready(entry->row.name, "it is being deleted");
  if (!entry->runs() || !entry->live) {
    const std::string why = to == To::kPaused ? ", and only what runs can be paused: " : ": ";
    co_return not_ready(entry->row.name, "it is " + std::string(to_string(entry->row.state)) + why +
                                             start_it(entry->row.name));
  }
  const auto live = entry->live;
  Result<void> done;
  if (to == To::kPaused) {
    done = co_await live->pause();
  } else {
    done = co_await live->resume();
  }
  if (!done) jobs_.spawn(learn(entry, live));  // it may yet happen, or have happened
  if (!done)
    co_return std::move(done).error().while_doing(to == To::kPaused
                                                      ? "pause sandbox " + entry->row.name
                                                      : "resume sandbox " + entry->row.name);
  // It may have died meanwhile. Then the state that was recorded stands.
  if (!entry->runs()) {
    const std::string& name = entry->row.name;
    co_return not_ready(name, "it ended meanwhile: " + entry->row.reason + "; " + start_it(name));
  }
  record(*entry, to);
  co_return Result<void>();
}

void Pauses::record(Entry& entry, To to) {
  // Its idle time begins anew; while it was paused none passed.
  if (to == To::kReady) registry_->touch(entry);
  Sandbox next = entry.row;
  next.state = to == To::kPaused ? SandboxState::kPaused : SandboxState::kReady;
  if (next.state != entry.row.state) registry_->record(entry, std::move(next));
}

Result<void> Pauses::open() {
  CAY_TRY(const auto held, still_.open());
  for (const auto& [id, why] : held) {
    const auto entry = registry_->by_id(id);
    if (entry && entry->row.state == SandboxState::kReady) continue;
    CAY_CHECK(still_.over(id));
  }
  return {};
}

Task<bool> Pauses::hold_still(std::shared_ptr<Entry> entry) {
  if (entry->row.state != SandboxState::kReady || !entry->live) co_return false;
  if (!check_pause(*entry)) co_return false;
  CAY_CO_CHECK(still_.begin(entry->row.id, kHeldStill));
  entry->still = std::make_shared<Event>(registry_->loop());
  const auto live = entry->live;
  auto held = co_await live->pause();
  if (held) co_return true;
  const auto gone = co_await let_go(std::move(entry));
  static_cast<void>(gone);  // the first failure is the cause
  co_return std::move(held).error().while_doing("hold it still");
}

Task<void> Pauses::let_go(std::shared_ptr<Entry> entry) {
  const auto live = entry->live;
  Result<void> gone;
  if (live) {
    gone = co_await live->resume();
  }
  const auto still = std::exchange(entry->still, nullptr);
  if (still) still->set();
  if (!gone) {
    jobs_.spawn(learn(entry, live));  // it lets go once the keeper answers
    co_return std::move(gone).error().while_doing("let sandbox " + entry->row.name + " go on");
  }
  co_return still_.over(entry->row.id);
}

Task<void> Pauses::learn(std::shared_ptr<Entry> entry, std::shared_ptr<LiveSandbox> live) {
  for (bool told = false; !jobs_.closing;) {
    {
      const auto turn = co_await entry->turn.lock();  // nobody pauses or resumes it meanwhile
      if (entry->live != live || !entry->runs() || entry->removing()) co_return Result<void>();
      if (!still_.why(entry->row.id).empty()) {
        auto resuming = live->resume();
        const auto gone =
            co_await with_deadline(std::move(resuming), kAnswerLimit, "letting it go");
        if (gone) {
          const auto noted = still_.over(entry->row.id);
          if (!noted)
            jobs_.warn("a sandbox that goes on is still on record as held still: " +
                       noted.error().message);
        }
      }
      auto asking = live->stats();
      const auto now =
          co_await with_deadline(std::move(asking), kAnswerLimit, "asking whether it is paused");
      if (entry->live != live || !entry->runs()) co_return Result<void>();
      if (now) {
        if (now->paused != (entry->row.state == SandboxState::kPaused))
          record(*entry, now->paused ? To::kPaused : To::kReady);
        co_return Result<void>();
      }
      if (!told)
        jobs_.warn("sandbox " + entry->row.name +
                   ": read whether it is paused: " + now.error().message);
      told = true;
    }
    co_await sleep_for(kAskAgain);
  }
  co_return Result<void>();
}

}  // namespace cay::core
