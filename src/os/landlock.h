// Landlock limits what a process may open, make and remove in the file system. It uses raw system
// calls, because Debian 12 has no library for it.
#pragma once
#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::os {

// 0: this kernel has none, or it is turned off.
int landlock_abi();

class Landlock {
 public:
  // Handles all that this kernel can: what no rule allows is refused from enforce() on. So are,
  // where the kernel knows of them, TCP ports to listen on, abstract sockets of others, and signals
  // to processes outside.
  static Result<Landlock> begin();

  // Below `directory` (or that file).
  Result<void> allow_reading(int directory);
  // And making, writing, renaming and removing files in it.
  Result<void> allow_keeping_files(int directory);

  // For the calling thread and what it makes from now on; it must have no_new_privs.
  Result<void> enforce();

 private:
  explicit Landlock(UniqueFd rules, std::uint64_t handled)
      : rules_(std::move(rules)), handled_(handled) {}
  Result<void> allow(int directory, std::uint64_t access);
  UniqueFd rules_;
  std::uint64_t handled_ = 0;
};

}  // namespace cay::os
