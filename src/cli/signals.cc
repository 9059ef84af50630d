#include "cli/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "cli/output.h"
#include "cli/terminal.h"

namespace cay::cli {

void end_by_signal(int signal) {
  constexpr int kSignalBase = 128;
  restore_terminal();
  ::_exit(kSignalBase + signal);
}

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC));
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
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
  if (!handler_) return;
  for (const int signal : std::exchange(held_, {})) handler_(signal);
}

void Signals::hold(std::string left_behind) {
  const std::lock_guard lock(mutex_);
  holding_ = true;
  left_behind_ = std::move(left_behind);
}

void Signals::release() {
  const std::lock_guard lock(mutex_);
  holding_ = false;
  if (!held_.empty()) end_by_signal(held_.front());
}

std::optional<int> Signals::held() {
  const std::lock_guard lock(mutex_);
  return held_.empty() ? std::nullopt : std::optional(held_.front());
}

// With the lock.
void Signals::unhandled(int signal) {
  constexpr std::size_t kMostHeld = 3;  // as with a command: the third means it
  if (signal == SIGWINCH) return;
  if (holding_) held_.push_back(signal);
  if (holding_ && held_.size() < kMostHeld) return;
  if (holding_) print_error(left_behind_);
  end_by_signal(signal);
}

void Signals::take() {
  while (true) {
    pollfd ready[2] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0) continue;  // EINTR: nothing else can be
    if (ready[1].revents != 0) return;
    signalfd_siginfo got{};
    if (::read(signals_.get(), &got, sizeof got) != sizeof got) continue;
    const std::lock_guard lock(mutex_);
    const int signal = static_cast<int>(got.ssi_signo);
    if (handler_) {
      handler_(signal);
    } else {
      unhandled(signal);
    }
  }
}

}  // namespace cay::cli
