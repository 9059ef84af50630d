#include "launcher/guest_groups.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "launcher/groups.h"
#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

constexpr std::uint64_t kShown =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
constexpr const char* kNoSoftLimit = "9223372036854771712\n";  // v1's word for none

// Files of the same form have one content: a link costs no page of memory.
constexpr std::pair<const char*, const char*> kLinks[] = {
    {"memory/memory.limit_in_bytes", "../memory.max"},
    {"memory/memory.usage_in_bytes", "../memory.current"},
    {"cpu,cpuacct", "cpu"}};

}  // namespace

const char* const kControllers =
    "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
    "cpuset\t0\t1\t1\n"
    "cpu\t0\t1\t1\n"
    "cpuacct\t0\t1\t1\n"
    "memory\t0\t1\t1\n"
    "pids\t0\t1\t1\n";

Result<UniqueFd> mount_of_groups(const SandboxGroups& groups) {
  // Made under the launcher's umask: inside, every user may read them.
  if (::fchmod(groups.cmds.get(), 0755) != 0) {
    return Error::from_errno(errno, "open the commands' group to readers");
  }
  CAY_TRY(UniqueFd mount, os::clone_mount(groups.cmds.get(), ""));
  CAY_CHECK(os::set_mount_attributes(mount.get(), kShown));
  return mount;
}

Result<UniqueFd> make_group_files(const GuestGroups& groups, int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0) return Error::from_errno(errno, "make " + name);
  CAY_TRY(const UniqueFd dir, os::open_dir(parent, name));
  for (const char* controller : {"memory", "cpu"}) {
    if (::mkdirat(dir.get(), controller, 0755) != 0) {
      return Error::from_errno(errno, std::string("make /sys/fs/cgroup/") + controller);
    }
  }
  for (const auto& [link, target] : kLinks) {
    if (::symlinkat(target, dir.get(), link) != 0) {
      return Error::from_errno(errno, std::string("link /sys/fs/cgroup/") + link);
    }
  }
  const std::string cpu_max = cpu_max_of(groups.cpu_millicores);
  const std::size_t blank = cpu_max.find(' ');
  const std::pair<const char*, std::string> files[] = {
      {"cgroup.controllers", "cpu memory\n"},
      {"memory.max", std::to_string(groups.memory_bytes) + "\n"},
      {"memory/memory.soft_limit_in_bytes", kNoSoftLimit},
      {"cpu.max", cpu_max + "\n"},
      {"cpu/cpu.cfs_quota_us", cpu_max.substr(0, blank) + "\n"},
      {"cpu/cpu.cfs_period_us", cpu_max.substr(blank + 1) + "\n"}};
  for (const auto& [file, text] : files) {
    CAY_CHECK(os::make_file(dir.get(), file, text, 0444));
  }
  return os::make_file(dir.get(), "memory.current", "", 0444);
}

}  // namespace cay::launcher
