#include "launcher_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "launcher/capabilities.h"
#include "os/process.h"
#include "watcher.h"

namespace cay::app {
namespace {

constexpr int kRetryMs = 1000;
constexpr int kLookMs = 2000;  // between looks at whether somebody has stopped what is watched
constexpr int kTwinPauseMs = 20;  // what kills it at once again must not cost a CPU

bool has_ended(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

// Until one of them has ended (a negative one never does), or for `ms` (-1: for ever).
void wait_for(int first, int second, int third, int ms) {
  pollfd waits[3] = {{first, POLLIN, 0}, {second, POLLIN, 0}, {third, POLLIN, 0}};
  while (::poll(waits, 3, ms) < 0 && errno == EINTR) {
  }
}

// What is stopped by a signal neither ends nor does anything: nobody would replace it.
void let_go_on(pid_t pid, const char* what) {
  if (os::continue_if_stopped(pid)) std::fprintf(stderr, "cay: %s was stopped by a signal: it goes on\n", what);
}

// Its socket stays behind when it is killed; one that is ended politely takes it away.
bool was_killed(const LauncherOptions& options) {
  return ::access((options.data + "/run/launcher.sock").c_str(), F_OK) == 0;
}

// Returns when its twin is gone.
void watch(const LauncherOptions& options, int twin) {
  while (!has_ended(twin)) {
    if (has_ended(kDaemonPipe)) ::_exit(0);
    const auto pid = launcher_pid(options.data);
    const UniqueFd launcher(pid ? static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)) : -1);
    while (launcher && !has_ended(launcher.get())) {
      wait_for(kDaemonPipe, twin, launcher.get(), kLookMs);
      if (has_ended(kDaemonPipe)) ::_exit(0);
      if (has_ended(twin)) return;
      let_go_on(*pid, "the launcher");
      let_go_on(::getppid(), "cay-watch");
    }
    if (was_killed(options) && !launcher_answers(options.data)) {
      const auto started = start_launcher(options);
      std::fprintf(stderr, "cay: the launcher died; %s\n",
                   started ? "another one serves now" : started.error().message.c_str());
      if (started) continue;
    }
    wait_for(kDaemonPipe, twin, -1, kRetryMs);
  }
}

// Two of them: one watches the launcher, and each replaces the other. Whichever is killed, together with the
// launcher or before it, the other one is there.
[[noreturn]] void stand_guard(const LauncherOptions& options) {
  while (!has_ended(kDaemonPipe)) {
    int ends[2];
    const bool made = ::pipe2(ends, O_CLOEXEC) == 0;
    const pid_t twin = made ? ::fork() : -1;
    if (twin == 0) {
      ::close(ends[1]);
      watch(options, ends[0]);
      ::close(ends[0]);
      continue;  // and stands in the place of the one that is gone
    }
    if (made) ::close(ends[0]);
    if (twin > 0) {
      const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, twin, 0)));
      do {
        wait_for(kDaemonPipe, process.get(), -1, process ? kLookMs : kRetryMs);
        let_go_on(twin, "cay-watch");
      } while (process && !has_ended(process.get()) && !has_ended(kDaemonPipe));
      if (has_ended(kDaemonPipe)) break;  // the twin sees it, too
      if (!process) ::kill(twin, SIGKILL);
      ::waitpid(twin, nullptr, 0);
    }
    if (made) ::close(ends[1]);
    wait_for(kDaemonPipe, -1, -1, twin > 0 ? kTwinPauseMs : kRetryMs);
  }
  ::_exit(0);
}

}  // namespace

Result<UniqueFd> watch_launcher(const LauncherOptions& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe for the launcher's watcher");
  UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno(errno, "fork the launcher's watcher");
  if (pid > 0) {
    ::waitpid(pid, nullptr, 0);
    return ours;
  }
  ::setsid();  // a Ctrl-C is for the daemon, whose end is ours
  if (::fork() != 0) ::_exit(0);  // nobody's child: whoever adopts it reaps it
  become_watcher("cay-watch", std::move(theirs), launcher::capability_bits());
  stand_guard(options);
}

}  // namespace cay::app
