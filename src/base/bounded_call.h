// bounded(): makes a system call that must not wait, on a descriptor whose open file another
// process has too. O_NONBLOCK belongs to that file (open(2), fcntl(2)): the other process may clear
// it at any moment, also between a check and the call, and a socket cannot be opened anew. So a
// signal breaks off a call that waits.
//
// A call that takes MSG_DONTWAIT does not need it. These take no such flag: accept(2), splice(2)
// from or to a socket (the kernel looks at the socket's own flag), close(2) of a socket with
// SO_LINGER.
#pragma once
#include <cerrno>
#include <chrono>

namespace cay {

inline constexpr std::chrono::milliseconds kCallLimit{50};

// While one exists, the calling thread gets a signal every kCallLimit; the first may come at once.
// One at a time in a thread.
class CallLimit {
 public:
  CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;
  ~CallLimit();
  // How often it has come.
  int ticks() const;
};

// Returns the result of `call`, or -1 with ETIMEDOUT if it waited for kCallLimit (at most twice
// that) and was broken off. Never EINTR: splice(2) looks for a signal before it looks for bytes, so
// a call that a signal ended at its beginning is made again.
template <class Call>
auto bounded(Call call) {
  const CallLimit limit;
  for (;;) {
    const auto got = call();
    if (got >= 0 || errno != EINTR) return got;
    if (limit.ticks() < 2) continue;
    errno = ETIMEDOUT;
    return got;
  }
}

}  // namespace cay
