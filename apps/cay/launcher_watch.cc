#include "launcher_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace cay::app {
namespace {

constexpr int kRetryMs = 1000;

// True when the daemon is gone; false after `ms` (-1: never), or when `other` has something to say.
bool daemon_ends_within(int daemon_fd, int other, int ms) {
  pollfd waits[2] = {{daemon_fd, POLLIN, 0}, {other, POLLIN, 0}};
  while (::poll(waits, 2, ms) < 0 && errno == EINTR) {
  }
  return waits[0].revents != 0;
}

// Its socket stays behind when it is killed; one that is ended politely takes it away.
bool was_killed(const LauncherOptions& options) {
  return ::access((options.data + "/run/launcher.sock").c_str(), F_OK) == 0;
}

[[noreturn]] void watch(const LauncherOptions& options, int daemon_fd) {
  for (;;) {
    const auto pid = launcher_pid(options.data);
    const UniqueFd launcher(pid ? static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)) : -1);
    if (launcher) {
      if (daemon_ends_within(daemon_fd, launcher.get(), -1)) ::_exit(0);
    }
    if (was_killed(options) && !launcher_answers(options.data)) {
      const auto started = start_launcher(options);
      std::fprintf(stderr, "cay: the launcher died; %s\n",
                   started ? "another one serves now" : started.error().message.c_str());
      if (started) continue;
    }
    if (daemon_ends_within(daemon_fd, -1, kRetryMs)) ::_exit(0);
  }
}

}  // namespace

Result<UniqueFd> watch_launcher(const LauncherOptions& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe for the launcher's watcher");
  UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno(errno, "fork the launcher's watcher");
  if (pid > 0) return ours;
  ::setsid();  // a Ctrl-C is for the daemon, whose end is ours
  ::prctl(PR_SET_NAME, "cay-watch", 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::signal(SIGCHLD, SIG_DFL);
  // Nothing of the daemon's but its log: whoever reads its output must see its end.
  constexpr int kPipe = 3;
  ::dup3(::open("/dev/null", O_RDWR | O_CLOEXEC), 0, 0);
  ::dup2(0, 1);
  if (theirs.get() != kPipe) ::dup3(theirs.release(), kPipe, O_CLOEXEC);
  ::syscall(SYS_close_range, kPipe + 1, ~0U, 0);
  watch(options, kPipe);
}

}  // namespace cay::app
