#include "gate_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "runtime/native/gate_state.h"
#include "watcher.h"

namespace cay::app {
namespace {

constexpr int kLookMs = 5;
constexpr int kFirstLooks = 400;
constexpr int kRestartLooks = 200;  // then it is started again

// True when the daemon is gone; false after `ms` (-1: never), or when `other` has something to say.
bool daemon_ends_within(int daemon_fd, int other, int ms) {
  pollfd waits[2] = {{daemon_fd, POLLIN, 0}, {other, POLLIN, 0}};
  while (::poll(waits, 2, ms) < 0 && errno == EINTR) {
  }
  return waits[0].revents != 0;
}

// Its gate is not ours to replace: we shall not get this directory either (store/data_lock.h).
bool another_daemon_serves(const std::string& data) {
  const UniqueFd lock(::open((data + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

[[noreturn]] void watch(const GateOptions& options, int daemon_fd) {
  for (;;) {
    auto held = hold_gate(options.settings.data);
    if (held) {
      if (daemon_ends_within(daemon_fd, held->get(), -1)) ::_exit(0);
      continue;
    }
    // Its guardian starts another one at once; where that is gone too, we do.
    if (!gate_pid(options.settings.data)) {
      const auto started = start_gate(options);
      if (!started) std::fprintf(stderr, "cay: the gate: %s\n", started.error().message.c_str());
    }
    for (int i = 0; i < kRestartLooks && !held; ++i) {
      if (daemon_ends_within(daemon_fd, -1, kLookMs)) ::_exit(0);
      held = hold_gate(options.settings.data);
    }
  }
}

}  // namespace

bool gate_is_ours(const std::string& data, const DaemonUser& user) {
  struct stat info{};
  if (::stat((data + "/gate").c_str(), &info) != 0) return true;
  return ::geteuid() == 0 || info.st_uid == user.uid;
}

Result<UniqueFd> watch_gate(const GateOptions& options) {
  // A gate outlives the daemon. What an operator has closed meanwhile must not stay open through it.
  const std::string& data = options.settings.data;
  if (gate_pid(data) && runtime::gate_goes_by(data) != gate_identity(options.settings) && !another_daemon_serves(data)) {
    std::fprintf(stderr, "cay: the gate goes by other settings, or is of another release: it is replaced, and what is open through it is reset\n");
    CAY_CHECK(stop_gate(data));
  }
  if (!gate_pid(data)) { CAY_CHECK(start_gate(options)); }
  Result<UniqueFd> held;
  for (int i = 0; i < kFirstLooks && !(held = hold_gate(data)); ++i) ::poll(nullptr, 0, kLookMs);
  // Not a reason to serve nobody: what sandboxes send waits, the watcher goes on trying, and `cay doctor` says so.
  if (!held) {
    std::fprintf(stderr, "cay: the gate does not answer yet (%s); its last words are in %s/gate.log\n", held.error().message.c_str(),
                 data.c_str());
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe for the gate's watcher");
  UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno(errno, "fork the gate's watcher");
  if (pid > 0) return ours;
  ::setsid();  // a Ctrl-C is for the daemon, whose end is ours
  become_watcher("cay-watch-gate", std::move(theirs));
  watch(options, kDaemonPipe);
}

}  // namespace cay::app
