#include "launcher/kernel_view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>

#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

// ps, top, free, the C library and language runtimes open these. GuestRoot covers some with files
// of Cay's. Others, such as loadavg and vmstat, show numbers of the whole machine (SECURITY.md).
constexpr std::string_view kAllowedProc[] = {
    "cgroups",     "cpuinfo", "devices", "filesystems", "loadavg", "meminfo",
    "mounts",      "net",     "self",    "stat",        "sys",     "sysvipc",
    "thread-self", "tty",     "uptime",  "version",     "vmstat",
};

// Covered even where this kernel, or this boot, does not show them yet: a module may add them
// later.
constexpr const char* kCoveredProc[] = {"acpi", "asound", "driver",     "kcore",
                                        "keys", "scsi",   "sched_debug"};

bool is_number(std::string_view name) {
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

// The parts of sysfs that are shown: how many processors and memory nodes there are, page sizes,
// and the sandbox's own loopback.
constexpr const char* kAllowedSys[] = {"class/net", "devices/system/node", "devices/virtual/net",
                                       "kernel/mm/hugepages", "kernel/mm/transparent_hugepage"};
constexpr const char* kCpus = "devices/system/cpu";

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

// Attaches `name` of `from` at the same name of `to`, where the kernel has it.
Result<void> attach_part(int from, int to, const std::string& name) {
  if (from < 0) return {};
  auto part = os::clone_mount(from, name.c_str());
  if (!part) return is_absent(part.error()) ? Result<void>() : std::move(part).error();
  return os::attach_mount(part->get(), to, name.c_str());
}

// As of a machine whose other CPUs are possible and not plugged in.
Result<void> build_cpus(int sysfs, int to, const GuestCpus& cpus) {
  const UniqueFd from(sysfs < 0 ? -1 : ::openat(sysfs, kCpus, O_PATH | O_DIRECTORY | O_CLOEXEC));
  CAY_TRY(const UniqueFd dir, os::open_dir(to, kCpus));
  CAY_CHECK(os::make_file(dir.get(), "online", cpus.list + "\n", 0444));
  // The host's: allocators size tables by it, and index them by the CPU that a thread runs on.
  CAY_CHECK(os::make_file(dir.get(), "possible", cpus.possible, 0444));
  if (::symlinkat("online", dir.get(), "present") != 0) {
    return Error::from_errno(errno, "link the CPUs' file present");
  }
  if (!from) return {};
  for (const unsigned id : cpus.ids) {
    const std::string name = "cpu" + std::to_string(id);
    if (::mkdirat(dir.get(), name.c_str(), 0555) != 0) {
      return Error::from_errno(errno, "make /sys/" + name);
    }
    CAY_CHECK(attach_part(from.get(), dir.get(), name));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> covered_proc_names(int proc_dir) {
  std::vector<std::string> covered(std::begin(kCoveredProc), std::end(kCoveredProc));
  CAY_TRY(const auto names, os::list_dir(proc_dir));
  for (const std::string& name : names) {
    const bool allowed =
        std::find(std::begin(kAllowedProc), std::end(kAllowedProc), name) != std::end(kAllowedProc);
    if (allowed || is_number(name) ||
        std::find(covered.begin(), covered.end(), name) != covered.end())
      continue;
    struct stat info{};
    if (::fstatat(proc_dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if ((info.st_mode & 0007) != 0)
      covered.push_back(name);  // else of the host's root alone: no id inside is it
  }
  return covered;
}

Result<void> build_sys(int sysfs, int to, const GuestCpus& cpus) {
  for (const char* name : kSysDirectories) {
    if (::mkdirat(to, name, 0555) != 0)
      return Error::from_errno(errno, std::string("make /sys/") + name);
  }
  for (const char* name : kAllowedSys) {
    CAY_CHECK(attach_part(sysfs, to, name));
  }
  return cpus.list.empty() ? attach_part(sysfs, to, kCpus) : build_cpus(sysfs, to, cpus);
}

}  // namespace cay::launcher
