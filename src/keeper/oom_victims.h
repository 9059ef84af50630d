// OomVictims: whom the kernel's out-of-memory killer killed, read from what the launcher's kernel part keeps
// (wire/oom_victims.h). A cgroup counts the kills in it and does not name them; here are names, which are believed to
// be all of them only if they are as many as the group counted.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "wire/oom_victims.h"

namespace cay::keeper {

enum class Fate : std::uint8_t {
  kVictim,   // the kernel chose this process
  kSpared,   // it chose others, and not this one
  kUnknown,  // it killed somebody in this group, and nobody can say whom
};

class OomVictims {
 public:
  // Of a cay_oom_victims, to be mapped; -1, or what cannot be mapped: every fate is unknown.
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
