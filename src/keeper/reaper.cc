#include "keeper/reaper.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/assert.h"

namespace cay::keeper {
namespace {

// The system call, for its rusage: the library's waitid does not give it.
int waitid_usage(idtype_t type, id_t id, siginfo_t* info, int options, rusage* usage) {
  return static_cast<int>(::syscall(SYS_waitid, type, id, info, options, usage));
}

bool waits(pid_t pid, int options) {
  siginfo_t info{};
  return waitid_usage(P_PID, static_cast<id_t>(pid), &info, options | WNOHANG | WNOWAIT | __WALL,
                      nullptr) == 0 &&
         info.si_pid == pid;
}

}  // namespace

bool is_stopped(pid_t pid) { return waits(pid, WSTOPPED); }
bool has_ended(pid_t pid) { return waits(pid, WEXITED); }

Reaper::Reaper(Loop& loop, std::function<void()> on_term)
    : loop_(loop), on_term_(std::move(on_term)) {
  // Stops of children are polled where they matter: a guest must not be able to wake us with them.
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  action.sa_flags = SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  CAY_ASSERT(signals_);
  watch_ = loop_.watch(signals_.get(), EPOLLIN, [this](std::uint32_t) {
    signalfd_siginfo info{};
    bool term = false;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info)
      term |= info.ssi_signo == SIGTERM;
    reap();
    if (term) on_term_();
  });
}

void Reaper::reap() {
  for (;;) {
    siginfo_t info{};
    Exit exit;
    if (waitid_usage(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL, &exit.usage) != 0 ||
        info.si_pid == 0)
      return;
    exit.signalled = info.si_code != CLD_EXITED;
    exit.value = info.si_status;
    if (!expected_.contains(info.si_pid) && resolver_) resolver_(info.si_pid);
    auto node = expected_.extract(info.si_pid);
    if (!node.empty()) node.mapped()(exit);
  }
}

}  // namespace cay::keeper
