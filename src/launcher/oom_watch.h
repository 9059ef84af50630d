// OomWatch: makes the kernel name the victims of its out-of-memory killer (oom_victims.bpf.c). So a
// command's end for want of memory differs from its own (docs/decisions/0018-out-of-memory.md). A
// child of the guardian loads it once. Workers and keepers inherit the descriptors, so it goes on
// as long as one of them lives.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace cay::launcher {

class OomWatch {
 public:
  OomWatch() = default;
  ~OomWatch();
  OomWatch(OomWatch&& other) noexcept { *this = std::move(other); }
  OomWatch& operator=(OomWatch&& other) noexcept;

  // The child begins to load it.
  static OomWatch begin();
  // Waits for the child. Without it all else works as well, and doctor reports the difference.
  void finish();

  // A map of one cay_oom_victims (wire/oom_victims.h), that can only be read; -1: victims are not
  // named.
  int victims() const { return victims_.get(); }
  // Whether the kernel's killer chose that process of that cgroup (its id in the unified
  // hierarchy). Only once finished.
  bool chose(pid_t pid, std::uint64_t group) const;
  int link() const { return link_.get(); }         // held, never used
  const std::string& how() const { return how_; }  // the source of names, or why there is none

 private:
  UniqueFd from_child_, child_;
  pid_t child_pid_ = 0;
  UniqueFd victims_, link_;
  std::string how_;
};

}  // namespace cay::launcher
