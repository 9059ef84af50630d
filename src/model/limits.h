// Limits has the most that one sandbox may use. Zero means "the default" in a spec. A plan or state
// has no zeros.
#pragma once
#include <cstdint>

namespace cay {

struct Limits {
  std::uint32_t cpu_millicores = 0;  // 1000 = one CPU
  std::uint64_t memory_bytes = 0;    // RAM of all commands, tmpfs included; swap is never given
  std::uint64_t disk_bytes = 0;      // writable layer
  std::uint32_t pids = 0;            // processes and threads
  bool operator==(const Limits&) const = default;
};

}  // namespace cay
