#include "launcher/holder.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/result.h"
#include "os/caps.h"
#include "os/cgroup_layout.h"
#include "os/file.h"
#include "os/service_manager.h"

namespace cay::launcher {
namespace {

constexpr const char* kLeaf = "holder";

Result<void> enter_leaf() {
  CAY_TRY(const std::string mountinfo, os::read_file(AT_FDCWD, "/proc/self/mountinfo", 4 << 20));
  CAY_TRY(const std::string own, os::read_file(AT_FDCWD, "/proc/self/cgroup"));
  const std::string mount = os::cgroup_layout_of(mountinfo).v2;
  const std::string path = os::v2_path_of(own);
  if (mount.empty() || path.empty() || path == "/")
    return {};  // v1 alone: processes may be anywhere
  CAY_TRY(const UniqueFd group, os::open_dir(AT_FDCWD, mount + path));
  if (::mkdirat(group.get(), kLeaf, 0755) != 0 && errno != EEXIST)
    return Error::from_errno(errno, "make the holder's cgroup");
  CAY_TRY(const UniqueFd leaf, os::open_dir(group.get(), kLeaf));
  return os::write_file(leaf.get(), "cgroup.procs", "0");
}

}  // namespace

int hold_cgroup() {
  ::prctl(PR_SET_NAME, "cay-holder", 0, 0, 0);
  auto entered = enter_leaf();
  if (!entered) {
    std::fprintf(stderr, "cay-launcher: %s\n", entered.error().message.c_str());
    return 125;
  }
  if (!os::give_up_all_but(0)) {
    std::fprintf(stderr, "cay-launcher: give up capabilities: %s\n", std::strerror(errno));
    return 125;
  }
  os::notify_service_manager("READY=1");
  for (;;) ::pause();  // SIGTERM's default action is the end
}

}  // namespace cay::launcher
