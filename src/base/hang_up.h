// Whether the other side of a connection has gone.
#pragma once
#include <poll.h>

namespace cay {

// Nothing goes either way any more: a reset, or both directions ended.
inline bool is_broken(int fd) {
  pollfd look{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLERR | POLLHUP)) != 0;
}

// Returns true if the peer of the stream socket has closed its side. Earlier bytes may still be
// there to be read (poll(2), POLLRDHUP).
inline bool has_hung_up(int fd) {
  pollfd look{.fd = fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&look, 1, 0) > 0;
}

}  // namespace cay
