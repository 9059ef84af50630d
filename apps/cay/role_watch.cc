#include "role_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "command_line.h"
#include "os/caps.h"
#include "watcher.h"

namespace cay::app {
namespace {

constexpr int kLookMs = 5;
constexpr int kFirstLooks = 400;
constexpr int kRestartLooks = 200;    // then it is started again
constexpr int kStoppedLookMs = 2000;  // between looks at whether somebody has stopped the twin

// The capabilities for starting a role (role_process.h), as its unit has them, and CAP_KILL to end
// one.
constexpr std::uint64_t kNeeded = os::cap_bit(CAP_SETUID) | os::cap_bit(CAP_SETGID) |
                                  os::cap_bit(CAP_SETPCAP) | os::cap_bit(CAP_CHOWN) |
                                  os::cap_bit(CAP_DAC_OVERRIDE) | os::cap_bit(CAP_FOWNER) |
                                  os::cap_bit(CAP_FSETID) | os::cap_bit(CAP_KILL);

enum class News : std::uint8_t { kNone, kDaemonEnded, kTwinGone, kRole };

// Waits up to `ms` (-1: for ever) and returns the news. `role` is its connection, or -1.
News news_within(int twin, int role, int ms) {
  pollfd waits[3] = {{kDaemonPipe, POLLIN, 0}, {twin, POLLIN, 0}, {role, POLLIN, 0}};
  while (::poll(waits, 3, ms) < 0 && errno == EINTR) {
  }
  if (waits[0].revents != 0) return News::kDaemonEnded;
  if (waits[1].revents != 0) return News::kTwinGone;
  return waits[2].revents != 0 ? News::kRole : News::kNone;
}

// A helper of another daemon is not ours to replace. We shall not get this directory either
// (store/data_lock.h).
bool another_daemon_serves(const std::string& data) {
  const UniqueFd lock(::open((data + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

// Detached from us, and does not wait.
Result<void> start(const WatchedRole& watched) {
  const std::string word = watched.role.word;
  const UniqueFd log(::open((watched.data + "/" + word + ".log").c_str(),
                            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
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

// Returns when its twin is gone.
void watch(const WatchedRole& watched, int twin) {
  for (;;) {
    auto held = hold_role(watched.role, watched.data);
    if (!held && !role_pid(watched.role, watched.data)) {
      // Its guardian starts another one at once; where that is gone too, we do.
      const auto started = start(watched);
      if (!started)
        std::fprintf(stderr, "cay: the %s: %s\n", watched.role.word,
                     started.error().message.c_str());
    }
    News news = News::kNone;
    for (int i = 0; i < kRestartLooks && !held && news == News::kNone; ++i) {
      news = news_within(twin, -1, kLookMs);
      held = hold_role(watched.role, watched.data);
    }
    while (held && news == News::kNone) {
      news = news_within(twin, held->get(), kStoppedLookMs);
      let_go_on(::getppid(), watched.role.watcher);
    }
    if (news == News::kDaemonEnded) ::_exit(0);
    if (news == News::kTwinGone) return;
  }
}

}  // namespace

Result<UniqueFd> watch_role(const WatchedRole& watched) {
  // It outlives the daemon. A host that an operator has closed meanwhile must not stay open through
  // it.
  const Role& role = watched.role;
  if (role_pid(role, watched.data) && role_identity(role, watched.data) != watched.identity &&
      !another_daemon_serves(watched.data)) {
    std::fprintf(stderr,
                 "cay: the %s goes by other settings, or is of another release: it is replaced, "
                 "and what is open through it is reset\n",
                 role.word);
    CAY_CHECK(stop_role(role, watched.data));
  }
  if (!role_pid(role, watched.data)) {
    CAY_CHECK(start(watched));
  }
  Result<UniqueFd> held;
  for (int i = 0; i < kFirstLooks && !(held = hold_role(role, watched.data)); ++i)
    ::poll(nullptr, 0, kLookMs);
  // The daemon serves without it: sandboxes' connections wait, the watcher retries, and `cay
  // doctor` reports it.
  if (!held) {
    std::fprintf(stderr, "cay: the %s does not answer yet (%s); its last words are in %s/%s.log\n",
                 role.word, held.error().message.c_str(), watched.data.c_str(), role.word);
  }
  return start_watcher({.name = role.watcher,
                        .capabilities = kNeeded,
                        .watch = [&watched](int twin) { watch(watched, twin); }});
}

}  // namespace cay::app
