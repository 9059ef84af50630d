#include "core/pause.h"

#include "async/deadline.h"
#include "core/capable.h"
#include "core/errors.h"

namespace cay::core {
namespace {

constexpr Millis kAnswerLimit{2'000};  // of one question; until the answer the row's state stands
constexpr Millis kAskAgain{1'000};

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

Task<void> Pauses::learn(std::shared_ptr<Entry> entry, std::shared_ptr<LiveSandbox> live) {
  for (bool told = false; !jobs_.closing;) {
    {
      const auto turn = co_await entry->turn.lock();  // nobody pauses or resumes it meanwhile
      if (entry->live != live || !entry->runs() || entry->removing()) co_return Result<void>();
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
                   ": ask whether it is paused: " + now.error().message);
      told = true;
    }
    co_await sleep_for(kAskAgain);
  }
  co_return Result<void>();
}

}  // namespace cay::core
