#include "os/net.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>

#include "base/unique_fd.h"

namespace cay::os {

bool bring_loopback_up() {
  const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return false;
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
  return ::ioctl(fd.get(), SIOCSIFFLAGS, &request) == 0;
}

}  // namespace cay::os
