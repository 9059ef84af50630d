#include "keeper/lender.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <iterator>
#include <memory>
#include <string>

#include "os/unix_socket.h"
#include "wire/messages.h"

namespace cay::keeper {

Lender::Lender(Loop& loop, const Context& context) : loop_(loop), context_(context) {
  if (context_.gate_fd < 0) return;
  listen_ = loop_.watch(context_.gate_fd, EPOLLIN, [this](std::uint32_t) { accept_all(); });
}

void Lender::accept_all() {
  for (;;) {
    UniqueFd fd(::accept4(context_.gate_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      if (errno == EMFILE || errno == ENFILE) {
        listen_.want(0);
        accept_again_ = loop_.after(100, [this] { listen_.want(EPOLLIN); });
      }
      return;
    }
    const auto peer = os::peer_uid(fd.get());
    if (!peer || (*peer != context_.gate_uid && *peer != 0) || !lend(fd.get())) continue;
    if (borrowers_.size() >= kMost) borrowers_.pop_front();
    borrowers_.emplace_back();
    const auto at = std::prev(borrowers_.end());
    at->fd = std::move(fd);
    // It has nothing to say: whatever comes is its end.
    at->watch = loop_.watch(at->fd.get(), EPOLLIN | EPOLLRDHUP, [this, at](std::uint32_t) {
      auto gone = std::make_shared<std::list<Borrower>>();
      gone->splice(gone->begin(), borrowers_, at);
      gone->front().watch.reset();
      loop_.defer([gone] {});
    });
  }
}

bool Lender::lend(int fd) const {
  wire::Lent lent;
  lent.sandbox_id = context_.sandbox_id;
  lent.policy = context_.policy;
  return static_cast<bool>(os::send_message(fd, wire::encode(lent), context_.lent_fds));
}

}  // namespace cay::keeper
