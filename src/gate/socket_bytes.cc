#include "gate/socket_bytes.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace cay::gate {

asio::awaitable<bool> send_all(Descriptor& to, std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t done =
        ::send(to.native_handle(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) {
      co_await writable(to);
      continue;
    }
    if (done < 0) co_return false;
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  co_return true;
}

// A buffer on the stack: whoever waits holds only what there is.
std::optional<Received> take(Descriptor& from, std::string& kept, std::size_t most) {
  char buffer[kAtOnce];
  for (;;) {
    const ssize_t got =
        ::recv(from.native_handle(), buffer, std::min(sizeof buffer, most), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got <= 0) return got == 0 ? Received::kEnd : Received::kBroken;
    kept.append(buffer, static_cast<std::size_t>(got));
    return Received::kSome;
  }
}

asio::awaitable<Received> receive(Descriptor& from, std::string& kept, std::size_t most) {
  for (;;) {
    const auto heard = take(from, kept, most);
    if (heard) co_return *heard;
    co_await readable(from);
  }
}

}  // namespace cay::gate
