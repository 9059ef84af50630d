#include "launcher_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "launcher/capabilities.h"
#include "watcher.h"

namespace cay::app {
namespace {

constexpr int kRetryMs = 1000;
constexpr int kLookMs = 2000;  // between looks at whether somebody has stopped what is watched

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

}  // namespace

Result<UniqueFd> watch_launcher(const LauncherOptions& options) {
  return start_watcher({.name = "cay-watch",
                        .capabilities = launcher::capability_bits(),
                        .watch = [&options](int twin) { watch(options, twin); }});
}

}  // namespace cay::app
