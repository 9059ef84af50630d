// MachineFiles: writes /proc/meminfo and /proc/stat of a sandbox, which show its own limits and
// use. On a hybrid host it writes /sys/fs/cgroup/memory.current too.
//
// While something runs inside, they are at most a second old. While nothing does, or the sandbox is
// paused, they are left alone: an idle sandbox takes no CPU time. The guest cannot write them
// (launcher/guest_root.h).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "keeper/keeper.h"
#include "keeper/loop.h"

namespace cay::keeper {

// All in bytes.
struct MemoryUse {
  std::uint64_t total = 0;  // the limit
  std::uint64_t used = 0;   // of all kinds
  std::uint64_t anon = 0, file = 0, shmem = 0, mapped = 0, dirty = 0, writeback = 0,
                unevictable = 0;
  std::uint64_t active_anon = 0, inactive_anon = 0, active_file = 0, inactive_file = 0;
  bool counts_slab = false;  // v2 does; v1 has no lines for the following
  std::uint64_t slab_reclaimable = 0, slab_unreclaimable = 0, kernel_stack = 0, page_tables = 0;
};

// In the kernel's form, always of one length for one `total`: a reader between two writes sees
// whole lines.
std::string meminfo_text(const MemoryUse& use);

// Reads the text of a memory.stat of v2, or of v1, where it takes the sums with all groups below.
void read_memory_stat(std::string_view text, bool v2, MemoryUse& use);

struct CpuUse {
  std::vector<unsigned> cpus;                    // ids
  std::uint64_t user = 0, system = 0, idle = 0;  // in hundredths of a second, of all CPUs together
  std::int64_t booted = 0;                       // UnixSeconds
};

// The kernel counts a group's time in one sum: the lines of the CPUs share it evenly.
std::string stat_text(const CpuUse& use);

class MachineFiles {
 public:
  // `active`: something runs inside, and is not paused. Tests pass a shorter `every_ms`.
  MachineFiles(Loop& loop, const Context& context, std::function<bool()> active,
               std::int64_t every_ms = kEveryMs);

  // Something begins to run, or to run again.
  void wake();

 private:
  static constexpr std::int64_t kEveryMs = 1000;
  void tick();
  void refresh();
  MemoryUse memory_use() const;
  CpuUse cpu_use() const;
  void write(MemoryUse memory, CpuUse cpu);

  Loop& loop_;
  const Context& context_;
  std::function<bool()> active_;
  std::int64_t every_ms_;
  std::uint64_t total_ = 0;
  std::int64_t born_ = 0;   // boottime_ms()
  std::uint64_t idle_ = 0;  // as last written: it never goes back
  bool awake_ = false;
  Timer timer_;
};

}  // namespace cay::keeper
