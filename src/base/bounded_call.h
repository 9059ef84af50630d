// bounded(): a system call that is not to wait, on a descriptor whose open file somebody else has too. O_NONBLOCK belongs to that
// file (open(2), fcntl(2)): the other may take it away at any moment, also between a look at it and the call, and sockets have
// no way to be opened anew. So what should not wait and does is broken off by a signal.
//
// Where the call itself takes MSG_DONTWAIT, that is enough. What does not: accept(2), splice(2) from or to a socket (the kernel goes
// by the socket's own flag), close(2) of a socket with SO_LINGER.
#pragma once
#include <cerrno>
#include <chrono>

namespace cay {

inline constexpr std::chrono::milliseconds kCallLimit{50};

// While one exists, the calling thread gets a signal every kCallLimit; the first may come at once. One at a time in a thread.
class CallLimit {
 public:
  CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;
  ~CallLimit();
  // How often it has come.
  int ticks() const;
};

// What `call` gives; -1 with ETIMEDOUT if it waited for kCallLimit, or up to twice that, and had to be broken off. Never EINTR: a
// signal that comes as a call begins ends it though it would not have waited (splice(2) looks for one first), so it is made again.
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
