#include "role_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "command_line.h"
#include "os/caps.h"
#include "watcher.h"

namespace cay::app {
namespace {

constexpr int kLookMs = 5;
constexpr int kFirstLooks = 400;
constexpr int kRestartLooks = 200;  // then it is started again

// What starting a role takes (role_process.h), as its unit has it, and CAP_KILL to end one.
constexpr std::uint64_t kNeeded = os::cap_bit(CAP_SETUID) | os::cap_bit(CAP_SETGID) | os::cap_bit(CAP_SETPCAP) | os::cap_bit(CAP_CHOWN) |
                                  os::cap_bit(CAP_DAC_OVERRIDE) | os::cap_bit(CAP_FOWNER) | os::cap_bit(CAP_FSETID) | os::cap_bit(CAP_KILL);

// True when the daemon is gone; false after `ms` (-1: never), or when `other` has something to say.
bool daemon_ends_within(int other, int ms) {
  pollfd waits[2] = {{kDaemonPipe, POLLIN, 0}, {other, POLLIN, 0}};
  while (::poll(waits, 2, ms) < 0 && errno == EINTR) {
  }
  return waits[0].revents != 0;
}

// What serves there is not ours to replace: we shall not get this directory either (store/data_lock.h).
bool another_daemon_serves(const std::string& data) {
  const UniqueFd lock(::open((data + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

// Detached from us, and does not wait.
Result<void> start(const Watched& watched) {
  const std::string word = watched.role.word;
  const UniqueFd log(::open((watched.data + "/" + word + ".log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return Error::from_errno(errno, "open the log of the " + word);
  const pid_t middle = ::fork();
  if (middle < 0) return Error::from_errno(errno, "fork");
  if (middle == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(null.get(), 0);
    ::dup2(log.get(), 1);
    ::dup2(log.get(), 2);
    ::_exit(fail(("cay " + word).c_str(), watched.become()));
  }
  ::waitpid(middle, nullptr, 0);
  return {};
}

[[noreturn]] void watch(const Watched& watched) {
  for (;;) {
    auto held = hold_role(watched.role, watched.data);
    if (held) {
      if (daemon_ends_within(held->get(), -1)) ::_exit(0);
      continue;
    }
    // Its guardian starts another one at once; where that is gone too, we do.
    if (!role_pid(watched.role, watched.data)) {
      const auto started = start(watched);
      if (!started) std::fprintf(stderr, "cay: the %s: %s\n", watched.role.word, started.error().message.c_str());
    }
    for (int i = 0; i < kRestartLooks && !held; ++i) {
      if (daemon_ends_within(-1, kLookMs)) ::_exit(0);
      held = hold_role(watched.role, watched.data);
    }
  }
}

}  // namespace

Result<UniqueFd> watch_role(const Watched& watched) {
  // It outlives the daemon. What an operator has closed meanwhile must not stay open through it.
  const Role& role = watched.role;
  if (role_pid(role, watched.data) && role_identity(role, watched.data) != watched.identity && !another_daemon_serves(watched.data)) {
    std::fprintf(stderr, "cay: the %s goes by other settings, or is of another release: it is replaced, and what is open through it is reset\n",
                 role.word);
    CAY_CHECK(stop_role(role, watched.data));
  }
  if (!role_pid(role, watched.data)) { CAY_CHECK(start(watched)); }
  Result<UniqueFd> held;
  for (int i = 0; i < kFirstLooks && !(held = hold_role(role, watched.data)); ++i) ::poll(nullptr, 0, kLookMs);
  // Not a reason to serve nobody: what sandboxes send waits, the watcher goes on trying, and `cay doctor` says so.
  if (!held) {
    std::fprintf(stderr, "cay: the %s does not answer yet (%s); its last words are in %s/%s.log\n", role.word, held.error().message.c_str(),
                 watched.data.c_str(), role.word);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe for a watcher");
  UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno(errno, "fork a watcher");
  if (pid > 0) return ours;
  ::setsid();  // a Ctrl-C is for the daemon, whose end is ours
  become_watcher(role.watcher, std::move(theirs), kNeeded);
  watch(watched);
}

}  // namespace cay::app
