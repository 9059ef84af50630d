// Reading what the kernel part writes meanwhile (wire/oom_victims.h).
#pragma once
#include <atomic>
#include <cstdint>

#include "wire/oom_victims.h"

namespace cay::wire {

// The victim of that number, 1 being the first; false: it has made room for another.
inline bool read_oom_victim(const cay_oom_victims& all, std::uint64_t number, cay_oom_victim& out) {
  const cay_oom_victim& at = all.last[(number - 1) % CAY_OOM_VICTIMS];
  if (__atomic_load_n(&at.number, __ATOMIC_ACQUIRE) != number) return false;
  out.group = __atomic_load_n(&at.group, __ATOMIC_RELAXED);
  out.kills = __atomic_load_n(&at.kills, __ATOMIC_RELAXED);
  out.pid = __atomic_load_n(&at.pid, __ATOMIC_RELAXED);
  out.shares = __atomic_load_n(&at.shares, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_acquire);
  return __atomic_load_n(&at.number, __ATOMIC_RELAXED) == number;
}

// The number of the oldest that may be kept still, less one.
inline std::uint64_t oom_victims_gone(std::uint64_t count) {
  return count > CAY_OOM_VICTIMS ? count - CAY_OOM_VICTIMS : 0;
}

}  // namespace cay::wire
