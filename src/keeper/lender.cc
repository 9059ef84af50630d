#include "keeper/lender.h"

#include <sys/epoll.h>

#include <iterator>
#include <memory>
#include <utility>

#include "os/unix_socket.h"
#include "wire/messages.h"

namespace cay::keeper {

Lender::Lender(Loop& loop, const Context& context) : loop_(loop), context_(context) {
  if (context_.gate_fd >= 0)
    acceptor_.emplace(loop_, context_.gate_fd, [this](UniqueFd fd) { serve(std::move(fd)); });
}

void Lender::serve(UniqueFd fd) {
  if (!os::peer_is(fd.get(), context_.gate_uid) || !lend(fd.get())) return;
  if (borrowers_.size() >= kMost) borrowers_.pop_front();
  borrowers_.emplace_back();
  const auto at = std::prev(borrowers_.end());
  at->fd = std::move(fd);
  // The gate sends nothing: any event is its end.
  at->watch = loop_.watch(at->fd.get(), EPOLLIN | EPOLLRDHUP, [this, at](std::uint32_t) {
    auto gone = std::make_shared<std::list<Borrower>>();
    gone->splice(gone->begin(), borrowers_, at);
    gone->front().watch.reset();
    loop_.defer([gone] {});
  });
}

bool Lender::lend(int fd) const {
  wire::Lent lent;
  lent.sandbox_id = context_.sandbox_id;
  lent.policy = context_.policy;
  return static_cast<bool>(os::send_message(fd, wire::encode(lent), context_.lent_fds));
}

}  // namespace cay::keeper
