#include "keeper/acceptor.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace cay::keeper {

Acceptor::Acceptor(Loop& loop, int listen_fd, std::function<void(UniqueFd)> take)
    : loop_(loop), listen_fd_(listen_fd), take_(std::move(take)) {
  listen_ = loop_.watch(listen_fd_, EPOLLIN, [this](std::uint32_t) { accept_all(); });
}

void Acceptor::accept_all() {
  for (;;) {
    UniqueFd fd(::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      // Out of descriptors: a level-triggered listener would spin; look again a little later.
      if (errno == EMFILE || errno == ENFILE) {
        listen_.want(0);
        again_ = loop_.after(100, [this] { listen_.want(EPOLLIN); });
      }
      return;
    }
    take_(std::move(fd));
  }
}

}  // namespace cay::keeper
