#include "launcher/pulse.h"

#include <sys/socket.h>

#include <cerrno>

namespace cay::launcher {

bool Pulse::beat() {
  char bytes[16];
  if (::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    up_ = true;
    asked_ = false;
    missed_ = 0;
  }
  if (!up_) return ++missed_ < kPatienceAtFirst;
  if (asked_) return ++missed_ < kPatience;
  asked_ = ::send(socket_.get(), "?", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
  return true;
}

bool answer_pulse(int socket) {
  char bytes[16];
  const ssize_t got = ::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (got > 0) (void)::send(socket, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  return true;
}

}  // namespace cay::launcher
