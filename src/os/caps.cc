#include "os/caps.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace cay::os {

bool set_capabilities(std::uint64_t keep) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  data[0].permitted = data[0].effective = static_cast<std::uint32_t>(keep & 0xffffffffU);
  data[1].permitted = data[1].effective = static_cast<std::uint32_t>(keep >> 32);
  return ::syscall(SYS_capset, &header, data) == 0;
}

bool drop_bounding_set() {
  for (unsigned long cap = 0; cap < 64; ++cap) {
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) return errno == EINVAL;  // past the kernel's last one
  }
  return true;
}

}  // namespace cay::os
