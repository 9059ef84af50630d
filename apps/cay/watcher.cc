#include "watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "os/caps.h"
#include "os/process.h"

namespace cay::app {
namespace {

constexpr int kRetryMs = 1000;
constexpr int kLookMs = 2000;     // between looks at whether somebody has stopped the twin
constexpr int kTwinPauseMs = 20;  // what kills it at once again must not cost a CPU

// They keep nothing of the daemon's but its log, for whoever reads the daemon's output must see its
// end.
void become_watcher(const char* name, UniqueFd daemon, std::uint64_t capabilities) {
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::signal(SIGCHLD, SIG_DFL);
  ::dup3(::open("/dev/null", O_RDWR | O_CLOEXEC), 0, 0);
  ::dup2(0, 1);
  const int pipe = daemon.release();  // open for as long as this process is
  if (pipe != kDaemonPipe) ::dup3(pipe, kDaemonPipe, O_CLOEXEC);
  ::syscall(SYS_close_range, kDaemonPipe + 1, ~0U, 0);
  // A container may refuse this. Then the watcher goes on with the capabilities that it has.
  if (::geteuid() == 0 && !os::give_up_all_but(capabilities))
    std::fprintf(stderr, "cay: %s keeps its capabilities: %s\n", name, std::strerror(errno));
}

bool has_ended(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

// Until one of them has ended (a negative one never does), or for `ms`.
void wait_for(int first, int second, int ms) {
  pollfd waits[2] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
  while (::poll(waits, 2, ms) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void stand_in_pair(const Watcher& watcher) {
  while (!has_ended(kDaemonPipe)) {
    int ends[2];
    const bool made = ::pipe2(ends, O_CLOEXEC) == 0;
    const pid_t twin = made ? ::fork() : -1;
    if (twin == 0) {
      ::close(ends[1]);
      watcher.watch(ends[0]);
      ::close(ends[0]);
      continue;  // and stands in the place of the one that is gone
    }
    if (made) ::close(ends[0]);
    if (twin > 0) {
      const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, twin, 0)));
      do {
        wait_for(kDaemonPipe, process.get(), process ? kLookMs : kRetryMs);
        let_go_on(twin, watcher.name);
      } while (process && !has_ended(process.get()) && !has_ended(kDaemonPipe));
      if (has_ended(kDaemonPipe)) break;  // the twin sees it, too
      if (!process) ::kill(twin, SIGKILL);
      ::waitpid(twin, nullptr, 0);
    }
    if (made) ::close(ends[1]);
    wait_for(kDaemonPipe, -1, twin > 0 ? kTwinPauseMs : kRetryMs);
  }
  ::_exit(0);
}

}  // namespace

void let_go_on(pid_t pid, const char* what) {
  if (os::continue_if_stopped(pid))
    std::fprintf(stderr, "cay: %s was stopped by a signal: it goes on\n", what);
}

Result<UniqueFd> start_watcher(const Watcher& watcher) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error::from_errno(errno, std::string("make a pipe for ") + watcher.name);
  UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno(errno, std::string("fork ") + watcher.name);
  if (pid > 0) {
    ::waitpid(pid, nullptr, 0);
    return ours;
  }
  ::setsid();                     // a Ctrl-C is for the daemon, whose end is ours
  if (::fork() != 0) ::_exit(0);  // nobody's child: whoever adopts it reaps it
  become_watcher(watcher.name, std::move(theirs), watcher.capabilities);
  stand_in_pair(watcher);
}

}  // namespace cay::app
