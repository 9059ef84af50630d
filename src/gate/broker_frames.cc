#include "gate/broker_frames.h"

#include "gate/socket_bytes.h"
#include "os/unix_socket.h"
#include "wire/vault_frame.h"

namespace cay::gate {
namespace {

Error gone() { return {Code::kCancelled, "peer_gone", "the other side of the socket is gone", 0}; }

}  // namespace

Task<std::string> FrameReader::next(Descriptor& from, UniqueFd* fd) {
  for (;;) {
    CAY_CO_TRY(auto frame, wire::take_vault_frame(have_));
    if (frame) co_return *std::move(frame);
    auto message = os::receive_message(from.native_handle());
    if (!message && message.error().code == Code::kNotReady) {
      co_await readable(from);
      continue;
    }
    if (!message || message->bytes.empty()) co_return gone();
    if (fd != nullptr && !message->fds.empty()) *fd = std::move(message->fds.front());
    have_ += message->bytes;
  }
}

Task<void> send_frame(Descriptor& to, std::string message) {
  const bool went = co_await send_all(to, wire::vault_frame(message));
  if (!went) co_return gone();
  co_return Result<void>();
}

}  // namespace cay::gate
