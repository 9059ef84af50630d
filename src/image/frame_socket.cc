#include "image/frame_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace cay::image {

bool FrameSocket::send(std::uint16_t type, std::string payload) {
  const std::string bytes =
      wire::encode_frame({.type = type, .flags = 0, .channel = 1, .payload = std::move(payload)});
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

std::optional<wire::Frame> FrameSocket::receive() {
  for (;;) {
    if (auto frame = reader_.next()) return frame;
    if (reader_.bad()) return std::nullopt;
    char buffer[wire::kDataChunk];
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    reader_.feed(std::string_view(buffer, static_cast<std::size_t>(n)));
  }
}

bool FrameSocket::has_ended() const {
  pollfd look{socket_.get(), POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace cay::image
