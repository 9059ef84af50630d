#include "keeper/oom_victims.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>

#include "wire/oom_victim_read.h"

namespace cay::keeper {
namespace {

// A kill is counted a few microseconds before it is named.
constexpr int kLooks = 100;

}  // namespace

OomVictims::OomVictims(int fd) {
  if (fd < 0) return;
  void* at = ::mmap(nullptr, sizeof *victims_, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return;
  ::madvise(at, sizeof *victims_, MADV_DONTFORK);  // children are the guest's soon
  victims_ = static_cast<const cay_oom_victims*>(at);
}

OomVictims::~OomVictims() {
  if (victims_ != nullptr) ::munmap(const_cast<cay_oom_victims*>(victims_), sizeof *victims_);
}

std::uint64_t OomVictims::count() const {
  return victims_ == nullptr ? 0 : __atomic_load_n(&victims_->count, __ATOMIC_ACQUIRE);
}

// The kernel also marks processes that die already, of something else: such a mark follows no new
// kill.
OomVictims::Told OomVictims::told(const Question& question) const {
  Told out;
  out.all = true;
  std::uint64_t kills = question.kills_before;
  const std::uint64_t last = count();
  for (std::uint64_t number = std::max(question.since, wire::oom_victims_gone(last)) + 1;
       number <= last; ++number) {
    cay_oom_victim victim{};
    if (!wire::read_oom_victim(*victims_, number, victim) || victim.group != question.group)
      continue;
    if (victim.kills == kills) continue;
    // More than one since the last: the others were not named. All of its memory's users go, and
    // only one is named.
    if (victim.kills != kills + 1 || victim.shares != 0) out.all = false;
    kills = victim.kills;
    if (victim.pid == static_cast<std::uint32_t>(question.pid)) out.named = true;
  }
  if (kills < question.kills_now) out.all = false;
  return out;
}

Fate OomVictims::fate_of(const Question& question) const {
  if (victims_ == nullptr || question.group == 0) return Fate::kUnknown;
  for (int look = 0; look < kLooks; ++look) {
    const Told now = told(question);
    if (now.named) return Fate::kVictim;
    if (now.all) return Fate::kSpared;
    ::sched_yield();
  }
  return Fate::kUnknown;
}

}  // namespace cay::keeper
