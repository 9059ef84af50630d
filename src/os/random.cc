#include "os/random.h"

#include <sys/random.h>

#include <cerrno>

#include "base/assert.h"

namespace cay::os {

Result<std::string> random_bytes(std::size_t count) {
  constexpr std::size_t kNeverInPart = 256;  // getrandom(2): such requests are answered whole
  CAY_ASSERT(count <= kNeverInPart);
  std::string bytes(count, '\0');
  for (;;) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got == static_cast<ssize_t>(count)) return bytes;
    if (got < 0 && errno == EINTR) continue;
    return Error::from_errno(errno, "get random bytes");
  }
}

}  // namespace cay::os
