#include "keeper/stats.h"

namespace cay::keeper {

wire::StatsMsg read_stats(const Context& context, const Slots& slots, std::uint32_t running) {
  wire::StatsMsg out;
  if (context.pure_v2) {
    out.cpu_usec = read_counter(context.cgroup_fd, "cpu.stat", "usage_usec");
    out.memory_bytes = read_counter(context.cgroup_fd, "memory.current");
    out.tmpfs_bytes = read_counter(context.cgroup_fd, "memory.stat", "shmem");
    out.pids = static_cast<std::uint32_t>(read_counter(context.cgroup_fd, "pids.current"));
  } else {
    out.cpu_usec = read_counter(context.cpuacct_fd, "cpuacct.usage") / 1000;  // nanoseconds
    out.memory_bytes = read_counter(context.memory_fd, "memory.usage_in_bytes");
    out.tmpfs_bytes = read_counter(context.memory_fd, "memory.stat", "total_shmem");
    out.pids = static_cast<std::uint32_t>(read_counter(context.pids_fd, "pids.current"));
  }
  out.oom_kills = static_cast<std::uint32_t>(slots.oom_kills_ever());
  out.running_commands = running;
  out.quiet_ms = slots.quiet_ms();
  return out;
}

}  // namespace cay::keeper
