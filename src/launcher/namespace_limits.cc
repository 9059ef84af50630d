#include "launcher/namespace_limits.h"

#include <cerrno>
#include <string>

#include "os/file.h"

namespace cay::launcher {
namespace {

struct Maximum {
  const char* file;
  unsigned nested;  // of each user inside; in the other profiles none
  bool of_network = false;
};
// Not max_cgroup_namespaces: each command of ours has one of its own (keeper/child.cc). Making one
// takes CAP_SYS_ADMIN in a user namespace, of which the first line allows none.
constexpr Maximum kMaxima[] = {
    {"max_user_namespaces", 256},  // two for a container of bubblewrap's, one for podman's;
                                   // build tools make many at once
    {"max_pid_namespaces", 256},   // the kernel nests 32 at most
    {"max_mnt_namespaces", 256},
    {"max_net_namespaces", 64, true},  // the dearest: about a hundred kilobytes of kernel
                                       // memory, not all of which the group pays for
    {"max_uts_namespaces", 256},
    {"max_ipc_namespaces", 256},
    {"max_time_namespaces", 256},
};

}  // namespace

Result<void> limit_namespaces(int settings, const NamespaceRights& rights) {
  for (const Maximum& one : kMaxima) {
    const bool some = rights.profile == Profile::kNested && (rights.networks || !one.of_network);
    auto written = os::write_file(settings, one.file, std::to_string(some ? one.nested : 0));
    // A kernel without that kind of namespace.
    if (!written && written.error().os_errno != ENOENT)
      return std::move(written).error().while_doing(std::string("limit ") + one.file);
  }
  return {};
}

}  // namespace cay::launcher
