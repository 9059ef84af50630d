// OomVictims: the victims of the kernel's out-of-memory killer, read from the table of the
// launcher's kernel part (wire/oom_victims.h). A cgroup counts its kills and does not name them.
// The names here are believed to be all only if they are as many as the group counted.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "wire/oom_victims.h"

namespace cay::keeper {

enum class Fate : std::uint8_t {
  kVictim,   // the kernel chose this process
  kSpared,   // it chose others, and not this one
  kUnknown,  // it killed a process in this group, and which one is not known
};

class OomVictims {
 public:
  // Maps a cay_oom_victims. With -1, or a descriptor that cannot be mapped, every fate is unknown.
  explicit OomVictims(int fd);
  ~OomVictims();
  OomVictims(const OomVictims&) = delete;
  OomVictims& operator=(const OomVictims&) = delete;

  // Victims ever, on this machine: to be remembered when a process starts.
  std::uint64_t count() const;

  struct Question {
    pid_t pid = 0;                   // a process that has ended
    std::uint64_t group = 0;         // where it was, by the cgroup's id; 0: nobody knows
    std::uint64_t since = 0;         // count() when it started
    std::uint64_t kills_before = 0;  // what the group had counted then
    std::uint64_t kills_now = 0;     // and now: more than that
  };
  Fate fate_of(const Question& question) const;

 private:
  struct Told {
    bool named = false;
    bool all = false;
  };
  Told told(const Question& question) const;

  const cay_oom_victims* victims_ = nullptr;
};

}  // namespace cay::keeper
