#include "cli/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/terminal.h"

namespace cay::cli {

void end_by_signal(int signal) {
  constexpr int kSignalBase = 128;
  restore_terminal();
  ::_exit(kSignalBase + signal);
}

void end_unless_resized(int signal) {
  if (signal != SIGWINCH) end_by_signal(signal);
}

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC));
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
  handler_ = end_unless_resized;
  thread_ = std::thread([this] { take(); });
}

Signals::~Signals() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto told = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Signals::on(Handler handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
}

void Signals::take() {
  while (true) {
    pollfd ready[2] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0) continue;  // EINTR: nothing else can be
    if (ready[1].revents != 0) return;
    signalfd_siginfo got{};
    if (::read(signals_.get(), &got, sizeof got) != sizeof got) continue;
    const std::lock_guard lock(mutex_);
    handler_(static_cast<int>(got.ssi_signo));
  }
}

}  // namespace cay::cli
