#include "core/keeper_notes.h"

#include "async/deadline.h"

namespace cay::core {
namespace {

// For a keeper to receive a confirmation. After that it sends its notes again.
constexpr Millis kConfirmLimit{2'000};

}  // namespace

bool KeeperNotes::take(const SandboxId& id, NoteMark mark) {
  NoteMark& last = last_[id];
  unconfirmed_.insert(id);
  if (mark.life == last.life && mark.number <= last.number) return false;
  last = mark;
  return true;
}

void KeeperNotes::confirm_all() {
  for (const auto& id : std::exchange(unconfirmed_, {})) {
    const auto entry = registry_.by_id(id);
    const auto last = last_.find(id);
    if (entry && entry->live && last != last_.end())
      jobs_.spawn(confirm(entry->live, last->second));
  }
}

Task<void> KeeperNotes::confirm(std::shared_ptr<LiveSandbox> live, NoteMark through) {
  auto telling = live->noted(through);
  auto told = co_await with_deadline(std::move(telling), kConfirmLimit,
                                     "telling a keeper what is on record");
  static_cast<void>(told);  // if that failed, the keeper sends its notes again
  co_return Result<void>();
}

}  // namespace cay::core
