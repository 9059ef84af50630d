#include "os/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"

namespace cay::os {

bool notify_service_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return false;
  const std::size_t size = std::strlen(path);
  if (size >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path, size);
  if (path[0] == '@') address.sun_path[0] = '\0';  // the abstract name space
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return false;
  return ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address),
                  length) == static_cast<ssize_t>(state.size());
}

}  // namespace cay::os
