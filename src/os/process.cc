#include "os/process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string>

#include "os/file.h"

namespace cay::os {

Result<Cloned> clone_process(std::uint64_t flags, int cgroup_fd) {
  int pidfd = -1;
  clone_args args{};
  args.flags = flags | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  args.exit_signal = (flags & CLONE_PARENT) != 0 ? 0 : SIGCHLD;
  if (cgroup_fd >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  }
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return Error::from_errno(errno, "clone3");
  Cloned cloned;
  cloned.pid = static_cast<pid_t>(pid);
  if (pid != 0) cloned.pidfd = UniqueFd(pidfd);
  return cloned;
}

namespace {

// Fields 3 and on of proc_pid_stat(5), after a space each; empty if gone. The name (field 2) may
// hold anything, so from its last ')'.
std::string stat_of(pid_t pid) {
  auto text = read_file(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat", 4096);
  const std::size_t name_end = text ? text->rfind(')') : std::string::npos;
  return name_end == std::string::npos ? std::string() : text->substr(name_end + 1);
}

}  // namespace

std::uint64_t start_time_of(pid_t pid) {
  const std::string fields = stat_of(pid);
  std::size_t at = 0;
  for (int field = 2; field < 22 && at != std::string::npos; ++field) {
    at = fields.find(' ', at);
    if (at != std::string::npos) ++at;
  }
  return at == std::string::npos ? 0 : std::strtoull(fields.c_str() + at, nullptr, 10);
}

char state_of(pid_t pid) {
  const std::string fields = stat_of(pid);
  return fields.size() < 2 ? '\0' : fields[1];
}

// By number: glibc 2.36 declares it without C linkage.
UniqueFd pidfd_of(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool continue_if_stopped(pid_t pid) {
  // The descriptor is opened before the look, so that both concern the same process.
  const UniqueFd process = pidfd_of(pid);
  return process && state_of(pid) == 'T' &&
         ::syscall(SYS_pidfd_send_signal, process.get(), SIGCONT, nullptr, 0) == 0;
}

Result<UniqueFd> open_process(pid_t pid, std::uint64_t start_time) {
  UniqueFd pidfd = pidfd_of(pid);
  if (!pidfd) return Error::from_errno(errno, "find process " + std::to_string(pid));
  // The descriptor first, then the check: if the times agree, the descriptor is of that process.
  if (start_time == 0 || start_time_of(pid) != start_time || has_ended(pidfd.get())) {
    return Error::from_errno(ESRCH, "find process " + std::to_string(pid));
  }
  return pidfd;
}

bool has_ended(int pidfd) {
  pollfd item{pidfd, POLLIN, 0};
  return ::poll(&item, 1, 0) == 1;
}

void kill_process(int pidfd) { ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); }

void close_all_but(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned from = 0;
  for (const int fd : keep) {
    if (fd < 0) continue;
    const auto at = static_cast<unsigned>(fd);
    if (at > from) ::close_range(from, at - 1, 0);
    from = std::max(from, at + 1);
  }
  ::close_range(from, UINT_MAX, 0);
}

void fill_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one, for those below are taken. A stdout that cannot be
    // written to fails with EBADF.
    if (::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
  }
}

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_max;
}

}  // namespace cay::os
