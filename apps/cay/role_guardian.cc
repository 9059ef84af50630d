#include "role_guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "command_line.h"
#include "os/unix_socket.h"

namespace cay::app {
namespace {

constexpr auto kHealthyLife = std::chrono::seconds(5);
constexpr int kMostPauseMs = 2000;

// Waits for a signal that ends us, or for the end of `worker`. Returns true if another worker is to
// start. Meanwhile it answers the worker's requests.
bool wait_for(pid_t worker, int signals, UniqueFd asked, const Guarded& guarded, int& code) {
  for (;;) {
    pollfd waits[2] = {{signals, POLLIN, 0}, {asked.get(), POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0) continue;
    if (waits[1].revents != 0 && !guarded.answer(asked.get())) {
      // It ends, or would go on without an answer, so another one starts. Its own exit code stays.
      ::kill(worker, SIGKILL);
      asked = UniqueFd();
    }
    signalfd_siginfo told{};
    if (waits[0].revents == 0 ||
        ::read(signals, &told, sizeof told) != static_cast<ssize_t>(sizeof told))
      continue;
    const int signal = static_cast<int>(told.ssi_signo);
    if (signal == SIGTERM || signal == SIGINT) {
      ::kill(worker, SIGKILL);
      ::waitpid(worker, nullptr, 0);
      code = 0;
      return false;
    }
    int status = 0;
    if (::waitpid(worker, &status, WNOHANG) != worker) continue;
    if (WIFEXITED(status)) {
      code = WEXITSTATUS(status);
      return false;
    }
    return true;
  }
}

Result<os::SocketPair> socket_for(const Guarded& guarded) {
  if (!guarded.answer) return os::SocketPair();
  CAY_TRY(os::SocketPair made, os::socket_pair());
  ::fcntl(made.ours.get(), F_SETFL,
          O_NONBLOCK);  // a worker that takes no answers must not hold us up
  return made;
}

}  // namespace

void begin_guardian(const Role& role, unsigned mask) {
  ::prctl(PR_SET_NAME, role.user, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::umask(mask);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
}

int refuse_to_serve(const Role& role, const std::string& why) {
  std::fprintf(stderr, "cay %s: %s\n", role.word, why.c_str());
  return kFailure;
}

int stand_guard(const Role& role, const Guarded& guarded) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const UniqueFd news(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!news) return refuse_to_serve(role, std::string("signalfd: ") + std::strerror(errno));
  const pid_t guardian = ::getpid();
  int pause_ms = 0;
  for (;;) {
    const auto born = std::chrono::steady_clock::now();
    auto asks = socket_for(guarded);
    if (!asks) return refuse_to_serve(role, asks.error().message);
    const pid_t worker = ::fork();
    if (worker < 0) return refuse_to_serve(role, std::string("fork: ") + std::strerror(errno));
    if (worker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != guardian) ::_exit(kFailure);
      ::prctl(PR_SET_NAME, role.worker, 0, 0, 0);
      ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
      asks->ours = UniqueFd();
      ::_exit(guarded.serve(std::move(asks->theirs)));
    }
    asks->theirs = UniqueFd();
    int code = 0;
    if (!wait_for(worker, news.get(), std::move(asks->ours), guarded, code)) return code;
    const bool healthy = std::chrono::steady_clock::now() - born > kHealthyLife;
    pause_ms = healthy ? 0 : std::min(kMostPauseMs, pause_ms * 2 + 10);
    std::fprintf(stderr, "cay %s: the part that serves died; another begins in %d ms\n", role.word,
                 pause_ms);
    ::poll(nullptr, 0, pause_ms);
  }
}

}  // namespace cay::app
