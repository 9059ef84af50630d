#include "launcher/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "launcher/capabilities.h"
#include "launcher/host.h"
#include "launcher/pulse.h"
#include "launcher/worker.h"
#include "os/caps.h"
#include "os/file.h"
#include "os/process.h"
#include "os/unix_socket.h"

namespace cay::launcher {
namespace {

constexpr int kFailed = 125;
constexpr const char* kSocket = "launcher.sock";
constexpr auto kHealthyLife =
    std::chrono::seconds(5);  // a worker that lived so long may be replaced at once
constexpr int kMaxPauseMs = 5000;

sigset_t guarded_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, signal);
  return set;
}

[[noreturn]] void be_worker(Host& host, int listen_fd, pid_t guardian, int guardian_fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a worker without a guardian must not go on
  if (::getppid() != guardian) ::_exit(kFailed);
  ::prctl(PR_SET_NAME, "cay-launcher-w", 0, 0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (auto joined = host.groups.join_tops(); !joined) {
    std::fprintf(stderr, "cay-launcher: %s\n", joined.error().message.c_str());
    ::_exit(kFailed);
  }
  const Error error = run_worker(host, listen_fd, guardian_fd);
  std::fprintf(stderr, "cay-launcher: worker: %s\n", error.message.c_str());
  ::_exit(kFailed);
}

// Reaps everything; true if `worker` was among it. Orphans of dead keepers come to us (subreaper).
bool reap(pid_t worker) {
  bool worker_ended = false;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == worker) worker_ended = true;
  }
  return worker_ended;
}

// The signal that came first; -1: none until then.
int wait_for_signal(const sigset_t& signals, std::chrono::steady_clock::time_point until) {
  const auto left = std::max(std::chrono::nanoseconds(until - std::chrono::steady_clock::now()),
                             std::chrono::nanoseconds(0));
  const timespec pause{static_cast<time_t>(left.count() / 1'000'000'000),
                       static_cast<long>(left.count() % 1'000'000'000)};
  return ::sigtimedwait(&signals, nullptr, &pause);
}

int guard(Host& host, int listen_fd) {
  const sigset_t signals = guarded_signals();
  const pid_t guardian = ::getpid();
  int pause_ms = 0;
  for (;;) {
    const auto born = std::chrono::steady_clock::now();
    auto ends = os::socket_pair();  // the worker sees ours close
    if (!ends) {
      std::fprintf(stderr, "cay-launcher: no socket for the worker: %s\n",
                   ends.error().message.c_str());
      return kFailed;
    }
    auto worker = os::clone_process(0);
    if (!worker) {
      std::fprintf(stderr, "cay-launcher: %s\n", worker.error().message.c_str());
      return kFailed;
    }
    if (worker->pid == 0) {
      ends->ours.reset();
      be_worker(host, listen_fd, guardian, ends->theirs.get());
    }
    ends->theirs.reset();
    Pulse pulse(std::move(ends->ours));
    auto next_beat = std::chrono::steady_clock::now() + host.config.beat;
    for (bool alive = true; alive;) {
      const int signal = wait_for_signal(signals, next_beat);
      if (std::chrono::steady_clock::now() >= next_beat) {
        next_beat = std::chrono::steady_clock::now() + host.config.beat;
        // A process that waits for its disk cannot be killed, and goes on when the disk does.
        if (!pulse.beat() && os::state_of(worker->pid) != 'D') {
          std::fprintf(stderr, "cay-launcher: the worker hangs: it is killed\n");
          os::kill_process(worker->pidfd.get());
        }
      }
      if (signal == SIGTERM || signal == SIGINT) {
        os::kill_process(worker->pidfd.get());
        ::waitpid(worker->pid, nullptr, 0);
        return 0;
      }
      alive = !reap(worker->pid);
    }
    const bool healthy = std::chrono::steady_clock::now() - born > kHealthyLife;
    pause_ms = healthy ? 0 : std::min(kMaxPauseMs, pause_ms * 2 + 10);
    std::fprintf(stderr, "cay-launcher: the worker died; another begins in %d ms\n", pause_ms);
    const timespec pause{pause_ms / 1000, (pause_ms % 1000) * 1'000'000L};
    sigset_t ending = signals;
    sigdelset(&ending, SIGCHLD);
    if (::sigtimedwait(&ending, nullptr, &pause) > 0) return 0;
  }
}

}  // namespace

void harden_process() {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::prctl(PR_SET_NAME, "cay-launcher", 0, 0, 0);
  ::umask(077);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) ::dup2(null, 0);
  for (int fd = 1; fd < 3; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::dup2(null, fd);
  }
  if (null > 2) ::close(null);
  const rlimit no_core{1, 1};  // keeper_process.cc
  ::setrlimit(RLIMIT_CORE, &no_core);
  os::raise_descriptor_limit();
}

int run_guardian(Config config) {
  if (::geteuid() != 0) {
    std::fprintf(stderr,
                 "cay-launcher: must run as root: it makes namespaces, mounts and cgroups\n");
    return kFailed;
  }
  if (!os::give_up_all_but(capability_bits())) {
    std::fprintf(stderr, "cay-launcher: give up capabilities: %s\n", std::strerror(errno));
    return kFailed;
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const sigset_t signals = guarded_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd listener(config.socket_fd);
  const bool own_socket = !listener;
  auto host = Host::open(std::move(config));
  if (!host) {
    std::fprintf(stderr, "cay-launcher: %s\n", host.error().message.c_str());
    return kFailed;
  }
  if (!host->disks.why_plain().empty()) {
    std::fprintf(stderr, "cay-launcher: disk limits are not enforced: %s\n",
                 host->disks.why_plain().c_str());
  }
  const Config& settings = host->config;
  if (own_socket) {
    auto made = os::listen_unix(host->run.get(), kSocket, settings.daemon_uid, settings.daemon_gid);
    if (!made) {
      std::fprintf(stderr, "cay-launcher: %s\n", made.error().message.c_str());
      return kFailed;
    }
    listener = std::move(*made);
  } else {
    ::fcntl(listener.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(listener.get(), F_SETFD, FD_CLOEXEC);
  }
  if (settings.on_ready) settings.on_ready();
  const int code = guard(*host, listener.get());
  host->groups.remove_tops();  // they stay while a sandbox lives in them
  if (own_socket)
    (void)os::unlink_as(host->run.get(), kSocket, settings.daemon_uid, settings.daemon_gid);
  return code;
}

}  // namespace cay::launcher
