#include "keeper/stats.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace cay::keeper {

std::vector<int> open_tmpfs(int root_fd, const std::vector<std::string>& more) {
  std::vector<int> out;
  std::vector<std::string> paths = {"dev/shm", "run"};
  paths.insert(paths.end(), more.begin(), more.end());
  for (const std::string& path : paths) {
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS;
    const int fd =
        static_cast<int>(::syscall(SYS_openat2, root_fd, path.c_str(), &how, sizeof how));
    if (fd >= 0) out.push_back(fd);
  }
  return out;
}

std::uint64_t bytes_in_tmpfs(const Context& context) {
  std::uint64_t out = 0;
  for (const int fd : context.tmpfs_fds) {
    struct statfs facts{};
    if (::fstatfs(fd, &facts) != 0 || facts.f_type != TMPFS_MAGIC) continue;
    out += (facts.f_blocks - facts.f_bfree) * static_cast<std::uint64_t>(facts.f_bsize);
  }
  return out;
}

wire::StatsMsg read_stats(const Context& context, const Slots& slots, std::uint32_t running) {
  wire::StatsMsg out;
  out.cpu_usec = read_counter(context.cgroup_fd, "cpu.stat", "usage_usec");
  if (context.pure_v2) {
    out.memory_bytes = read_counter(context.cgroup_fd, "memory.current");
    out.pids = static_cast<std::uint32_t>(read_counter(context.cgroup_fd, "pids.current"));
  } else {
    out.memory_bytes = read_counter(context.memory_fd, "memory.usage_in_bytes");
    out.pids = static_cast<std::uint32_t>(read_counter(context.pids_fd, "pids.current"));
  }
  out.tmpfs_bytes = bytes_in_tmpfs(context);
  out.oom_kills = static_cast<std::uint32_t>(slots.oom_kills_ever());
  out.running_commands = running;
  out.quiet_ms = slots.quiet_ms();
  return out;
}

}  // namespace cay::keeper
