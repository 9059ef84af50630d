#include "http/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>

namespace cay::http {

void Channel::start_read(const InBuffers& into, OnBytes on_bytes) {
  if (secured_) {
    secured_->async_read_some(into, std::move(on_bytes));
  } else {
    transport_->async_read_some(into, std::move(on_bytes));
  }
}

void Channel::start_write(const OutBuffers& from, OnBytes on_bytes) {
  if (secured_) {
    secured_->async_write_some(from, std::move(on_bytes));
  } else {
    transport_->async_write_some(from, std::move(on_bytes));
  }
}

std::size_t Channel::write_now(const OutBuffers& from) {
  if (secured_) return 0;
  std::array<iovec, kMostBuffers> pieces{};
  msghdr message{};
  message.msg_iov = pieces.data();
  for (const auto& piece : from)
    pieces[message.msg_iovlen++] = {const_cast<void*>(piece.data()), piece.size()};
  const ssize_t sent =
      ::sendmsg(transport_->socket().native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

}  // namespace cay::http
