#include "keeper/notes.h"

#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <utility>

namespace cay::keeper {
namespace {

constexpr std::uint8_t kStateRunning = 1;  // cay::CommandState

// Returns the number of this life, which no other life has, also over restarts of the host. Never
// 0.
std::uint64_t new_life() {
  std::uint64_t life = 0;
  if (::getrandom(&life, sizeof life, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof life)) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    life = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
  }
  return (life >> 1) | 1;  // the store's numbers have a sign
}

}  // namespace

Notes::Notes(Outbox& outbox) : outbox_(outbox), life_(new_life()) {}

void Notes::add(const wire::CommandMsg& command) {
  wire::NoteMsg note;
  note.life = life_;
  note.number = ++last_;
  note.command = command;
  note.command.argv.clear();  // may be long, and is read on request
  note.command.cwd.clear();
  note.command.user.clear();
  if (!taken_) {
    sent_ = last_;
    if (command.state != kStateRunning && outbox_.room())
      outbox_.event(wire::Type::kEnded, wire::encode(note.command));
    return;
  }
  if (kept_.size() >= kMostKept) kept_.pop_front();
  kept_.push_back({note.number, wire::encode(note)});
  pump();
}

void Notes::daemon_came(bool takes_notes) {
  here_ = true;
  taken_ = takes_notes;
  sent_ = 0;
  if (!taken_) kept_.clear();
  pump();
}

void Notes::daemon_left() { here_ = false; }

void Notes::noted(const wire::Noted& noted) {
  if (noted.life != life_) return;
  while (!kept_.empty() && kept_.front().number <= noted.through) kept_.pop_front();
}

void Notes::pump(bool all) {
  if (!here_ || kept_.empty() || kept_.back().number <= sent_) return;
  const auto unsent = [](std::uint64_t through, const Note& note) { return through < note.number; };
  for (auto at = std::upper_bound(kept_.begin(), kept_.end(), sent_, unsent);
       at != kept_.end() && (all || outbox_.room()); ++at) {
    sent_ = at->number;
    outbox_.event(wire::Type::kNote, at->payload);
  }
}

}  // namespace cay::keeper
