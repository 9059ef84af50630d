#include "base/bounded_call.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace cay {
namespace {

int wake_signal() { return SIGRTMIN + 5; }

// Arming a timer for each call would cost a virtual machine more than the call. So the timer stays
// armed while calls are frequent, and each tick breaks off the call that is under way. After some
// ticks without a call it is disarmed, so that nothing wakes an idle thread.
constexpr int kIdleTicks = 4;
thread_local volatile sig_atomic_t under_way = 0, ticks_of_it = 0, armed = 0, idle_ticks = 0;
thread_local timer_t the_timer{};

void note(int) {
  const int kept = errno;
  if (under_way != 0) {
    ticks_of_it = ticks_of_it + 1;
    idle_ticks = 0;
  } else if (idle_ticks = idle_ticks + 1; idle_ticks >= kIdleTicks) {
    const itimerspec never{};
    ::timer_settime(the_timer, 0, &never, nullptr);  // async-signal-safe
    armed = 0;
  }
  errno = kept;
}

// Without SA_RESTART: the call ends.
bool listens() {
  struct sigaction to{};
  to.sa_handler = note;
  sigemptyset(&to.sa_mask);
  return ::sigaction(wake_signal(), &to, nullptr) == 0;
}

// Belongs to one thread. It is periodic: if a signal comes before the call has begun, the next one
// breaks the call off.
class ThreadTimer {
 public:
  ThreadTimer() {
    static const bool listening = listens();
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, wake_signal());
    sigevent how{};
    how.sigev_notify = SIGEV_THREAD_ID;
    how.sigev_signo = wake_signal();
    how._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
    made_ = listening && ::pthread_sigmask(SIG_UNBLOCK, &ours, nullptr) == 0 &&
            ::timer_create(CLOCK_MONOTONIC, &how, &the_timer) == 0;
  }
  ThreadTimer(const ThreadTimer&) = delete;
  ThreadTimer& operator=(const ThreadTimer&) = delete;
  ~ThreadTimer() {
    if (made_) ::timer_delete(the_timer);
  }

  void arm() {
    if (!made_) return;
    constexpr timespec at{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kCallLimit).count()};
    const itimerspec to{.it_interval = at, .it_value = at};
    armed = ::timer_settime(the_timer, 0, &to, nullptr) == 0 ? 1 : 0;
  }

 private:
  bool made_ = false;
};

ThreadTimer& timer() {
  thread_local ThreadTimer one;
  return one;
}

}  // namespace

CallLimit::CallLimit() {
  ticks_of_it = 0;
  idle_ticks = 0;
  under_way = 1;  // before the look: from here on the handler leaves it armed
  if (armed == 0) timer().arm();
}

CallLimit::~CallLimit() { under_way = 0; }

int CallLimit::ticks() const { return ticks_of_it; }

}  // namespace cay
