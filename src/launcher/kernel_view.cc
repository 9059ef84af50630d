#include "launcher/kernel_view.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>

#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

// What ps, top, free, the C library and language runtimes open. Numbers of the whole machine are among it
// (cpuinfo, meminfo, stat, loadavg, vmstat): SECURITY.md says so.
constexpr std::string_view kAllowedProc[] = {
    "cgroups", "cpuinfo", "devices", "filesystems", "loadavg", "meminfo",     "mounts", "net",     "self",
    "stat",    "sys",     "sysvipc", "thread-self", "tty",     "uptime",      "version", "vmstat",
};

// Covered even where this kernel, or this boot, does not show them yet: a module may add them later.
constexpr const char* kCoveredProc[] = {"acpi", "asound", "driver", "kcore", "keys", "scsi", "sched_debug"};

bool is_number(std::string_view name) { return name.find_first_not_of("0123456789") == std::string_view::npos; }

// Of sysfs: how many processors and memory nodes there are, page sizes, and the sandbox's own loopback.
constexpr const char* kAllowedSys[] = {"class/net",           "devices/system/cpu",  "devices/system/node",
                                       "devices/virtual/net", "kernel/mm/hugepages", "kernel/mm/transparent_hugepage"};

// Parents before children. Programs list some of these without being ready for their absence.
constexpr const char* kSysDirectories[] = {"block",
                                           "bus",
                                           "class",
                                           "class/net",
                                           "dev",
                                           "devices",
                                           "devices/system",
                                           "devices/system/cpu",
                                           "devices/system/node",
                                           "devices/virtual",
                                           "devices/virtual/net",
                                           "firmware",
                                           "fs",
                                           "fs/cgroup",
                                           "kernel",
                                           "kernel/mm",
                                           "kernel/mm/hugepages",
                                           "kernel/mm/transparent_hugepage",
                                           "module",
                                           "power"};

bool is_absent(const Error& error) { return error.os_errno == ENOENT || error.os_errno == ENOTDIR; }

}  // namespace

Result<std::vector<std::string>> covered_proc_names(int proc_dir) {
  std::vector<std::string> covered(std::begin(kCoveredProc), std::end(kCoveredProc));
  CAY_TRY(const auto names, os::list_dir(proc_dir));
  for (const std::string& name : names) {
    const bool allowed = std::find(std::begin(kAllowedProc), std::end(kAllowedProc), name) != std::end(kAllowedProc);
    if (allowed || is_number(name) || std::find(covered.begin(), covered.end(), name) != covered.end()) continue;
    struct stat info{};
    if (::fstatat(proc_dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if ((info.st_mode & 0007) != 0) covered.push_back(name);  // else of the host's root alone: no id inside is it
  }
  return covered;
}

Result<void> build_sys(int sysfs, int to) {
  for (const char* name : kSysDirectories) {
    if (::mkdirat(to, name, 0555) != 0) return Error::from_errno(errno, std::string("make /sys/") + name);
  }
  for (const char* name : kAllowedSys) {
    auto part = os::clone_mount(sysfs, name);
    if (!part && is_absent(part.error())) continue;
    if (!part) return std::move(part).error();
    CAY_CHECK(os::attach_mount(part->get(), to, name));
  }
  return {};
}

}  // namespace cay::launcher
