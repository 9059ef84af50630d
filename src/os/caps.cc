#include "os/caps.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace cay::os {
namespace {

constexpr unsigned kMost = 64;

}  // namespace

bool set_capabilities(std::uint64_t keep) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  data[0].permitted = data[0].effective = static_cast<std::uint32_t>(keep & 0xffffffffU);
  data[1].permitted = data[1].effective = static_cast<std::uint32_t>(keep >> 32);
  return ::syscall(SYS_capset, &header, data) == 0;
}

bool drop_bounding_set(std::uint64_t keep) {
  for (unsigned cap = 0; cap < kMost; ++cap) {
    if ((keep >> cap & 1) != 0) continue;
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0) continue;
    const int held = ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
    if (held < 0) return errno == EINVAL;  // past the kernel's last one
    if (held == 1) return false;
  }
  return true;
}

bool give_up_all_but(std::uint64_t keep) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  const std::uint64_t had = std::uint64_t{data[1].permitted} << 32 | data[0].permitted;
  return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
         drop_bounding_set(keep) && set_capabilities(had & keep);
}

}  // namespace cay::os
