#include "launcher/guest_root.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "launcher/guest_layers.h"
#include "launcher/guest_mounts.h"
#include "launcher/init_process.h"
#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

constexpr std::uint64_t kPlain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kData = kPlain | MOUNT_ATTR_NOEXEC;

// Writing there would reach the host, where the kernel lets a sandbox's root try.
constexpr const char* kReadOnlyProc[] = {"sys", "sysrq-trigger"};

Error failed(const char* what) { return Error::from_errno(errno, what); }

Result<void> make_directory(int dir, const char* name, mode_t mode) {
  if (::mkdirat(dir, name, mode) != 0)
    return Error::from_errno(errno, std::string("make directory ") + name);
  return {};
}

}  // namespace

Result<void> GuestRoot::mount_proc() {
  if (plan_.fail_step == "mount /proc") return Error::from_errno(EIO, "mount /proc");
  auto made = make_proc();
  return made ? Result<void>() : std::move(made).error().while_doing("mount /proc");
}

Result<void> GuestRoot::build(LentMounts lent) {
  groups_ = std::move(lent.groups);
  stored_ = std::move(lent.stored);
  struct Step {
    const char* name;
    Result<void> (GuestRoot::*run)();
  };
  static constexpr Step kSteps[] = {
      {"show the groups", &GuestRoot::show_own_groups},
      {"place /proc, /sys, /dev and /run", &GuestRoot::place_trees},
      {"show the kernel a whole /proc", &GuestRoot::show_kernel_a_whole_proc},
      {"mount /tmp", &GuestRoot::mount_tmp},
      {"name the host", &GuestRoot::name_fork},  // before /etc may become read-only
      {"mount what was requested", &GuestRoot::mount_wanted},
      {"pivot root", &GuestRoot::pivot},
  };
  const auto injected = [&](const char* step) { return plan_.fail_step == step; };
  // Nothing of ours may travel back to the host, nothing of the host's in.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return failed("make mounts private");
  auto overlay = mount_overlay(std::move(lent.layers), std::move(lent.disk));
  if (!overlay) return std::move(overlay).error().while_doing("mount the root file system");
  for (const Step& step : kSteps) {
    if (injected(step.name)) return Error::from_errno(EIO, step.name);
    auto done = (this->*step.run)();
    if (!done) return std::move(done).error().while_doing(step.name);
  }
  return {};
}

Result<void> GuestRoot::mount_overlay(std::vector<UniqueFd> layers, UniqueFd disk) {
  const int staging = trees_.staging();
  CAY_CHECK(make_base_layer(staging, plan_));
  CAY_TRY(const bool names, make_names_layer(staging, plan_, layers));
  std::string lower = names ? std::string(kNamesLayer) + ":" : "";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string name = "l" + std::to_string(i);
    CAY_CHECK(make_directory(staging, name.c_str(), 0755));
    CAY_CHECK(os::attach_mount(layers[i].get(), staging, name.c_str()));
    lower += name + ":";
  }
  lower += kBaseLayer;
  CAY_CHECK(os::attach_mount(disk.get(), staging, "disk"));
  if (::fchdir(staging) != 0) return failed("enter staging");
  // By relative path: kernel 6.1 takes no descriptors, and /proc/1/mounts shows these words inside.
  const std::string options =
      "lowerdir=" + lower + ",upperdir=disk/upper,workdir=disk/work,userxattr";
  if (::mount("overlay", "root", "overlay", MS_NODEV, options.c_str()) != 0)
    return failed("mount overlay");
  root_ = UniqueFd(::openat(staging, "root", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!root_) return failed("open the overlay");
  // overlayfs does not fail where it cannot write: it mounts read-only, and the guest would find
  // out.
  struct statfs facts{};
  if (::fstatfs(root_.get(), &facts) != 0) return failed("look at the overlay");
  if ((facts.f_flags & ST_RDONLY) != 0) {
    return Error{Code::kExhausted, "disk_read_only",
                 "the kernel gives the sandbox's disk read-only: is the data directory's file "
                 "system full or broken?",
                 EROFS};
  }
  // Before anything is mounted over it.
  CAY_TRY(bare_, os::clone_mount(staging, "root"));
  return {};
}

Result<UniqueFd> GuestRoot::mount_point(const char* name) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    UniqueFd fd(::openat(root_.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (fd) return fd;
    if (plan_.builds_layer) break;
    // Not a directory: the guest put something else there before it was stopped.
    if (errno != ENOENT && ::unlinkat(root_.get(), name, 0) != 0) break;
    if (::mkdirat(root_.get(), name, 0755) != 0) break;
  }
  return Error::from_errno(errno, std::string("open mount point ") + name);
}

Result<void> GuestRoot::make_proc() {
  CAY_TRY(const UniqueFd proc, os::new_mount("proc", {{"source", "proc"}}, kData));
  CAY_CHECK(os::attach_mount(proc.get(), trees_.staging(), "proc"));
  user_settings_ = UniqueFd(::openat(proc.get(), "sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!user_settings_) return failed("open /proc/sys/user");
  network_settings_ = UniqueFd(::openat(proc.get(), "sys/net", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!network_settings_) return failed("open /proc/sys/net");
  for (const std::string& name : *plan_.covered_proc) {
    CAY_CHECK(covers_.mask(proc.get(), name.c_str()));
  }
  for (const char* path : kReadOnlyProc) {
    CAY_CHECK(covers_.make_read_only(proc.get(), path));
  }
  for (const char* name : {"meminfo", "stat", "cpuinfo", "cgroups"}) {
    CAY_CHECK(covers_.show_file(proc.get(), name));
  }
  return covers_.cover_boot_id(proc.get());
}

// A JDK looks for a mount of type cgroup2, and reads by its path what lies over it.
Result<void> GuestRoot::show_own_groups() {
  constexpr const char* kGroups = "sys/fs/cgroup";
  if (groups_) {
    CAY_CHECK(os::attach_mount(groups_.get(), trees_.staging(), kGroups));
  }
  return covers_.show_groups(trees_.staging(), kGroups);
}

Result<void> GuestRoot::place_trees() {
  for (const char* name : {"proc", "sys", "dev", "run"}) {
    if (plan_.builds_layer && name == std::string_view("run")) continue;
    CAY_TRY(const UniqueFd point, mount_point(name));
    CAY_CHECK(os::move_mount_tree(trees_.staging(), name, point.get()));
  }
  return {};
}

// A container inside mounts a procfs of its own, for its own pids. The kernel lets it if a procfs
// without covers is in its mount namespace, reachable or not (fs/namespace.c, mnt_already_visible).
// So the sandbox's own /proc keeps its covers, and there is another one that no path leads to: what
// lies over its parent directory can be taken off by nobody inside.
Result<void> GuestRoot::show_kernel_a_whole_proc() {
  if (plan_.profile != Profile::kNested) return {};
  constexpr const char* kHidden = ".nested";
  CAY_TRY(const UniqueFd dev, mount_point("dev"));
  CAY_CHECK(make_directory(dev.get(), kHidden, 0755));
  CAY_TRY(const UniqueFd hidden, os::open_dir(dev.get(), kHidden));
  CAY_CHECK(make_directory(hidden.get(), "proc", 0555));
  // Not read-only: then those made inside would have to be.
  CAY_TRY(const UniqueFd proc, os::new_mount("proc", {{"source", "proc"}}, kData));
  CAY_CHECK(os::attach_mount(proc.get(), hidden.get(), "proc"));
  return covers_.mask(dev.get(), kHidden);
}

// /tmp lies on the disk, as a mount of its own: no program in it gains privilege. A snapshot may
// have none, or another mode.
Result<void> GuestRoot::mount_tmp() {
  if (plan_.builds_layer) return {};
  CAY_CHECK(mount_point("tmp"));
  const UniqueFd tmp(::openat(root_.get(), "tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info{};
  if (!tmp || ::fstat(tmp.get(), &info) != 0) return failed("open /tmp");
  constexpr mode_t kForAll = 01777;
  if ((info.st_mode & 07777) != kForAll && ::fchmod(tmp.get(), kForAll) != 0)
    return failed("set the mode of /tmp");
  CAY_TRY(const UniqueFd own, os::clone_mount(tmp.get(), ""));
  CAY_CHECK(os::set_mount_attributes(own.get(), kPlain));
  return os::attach_mount(own.get(), tmp.get(), "");
}

Result<void> GuestRoot::mount_wanted() {
  GuestMounts wanted(plan_, root_.get(), covers_);
  return wanted.mount(std::move(stored_));
}

// Beside the names that lie below the disk (guest_layers.h), the one that the disk was copied from
// may have written its own.
Result<void> GuestRoot::name_fork() {
  if (!plan_.forked) return {};
  const UniqueFd etc(::openat(root_.get(), "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!etc) return {};
  const std::string name = plan_.hostname + "\n";
  const auto written = os::read_file(etc.get(), "hostname");
  if (!written || *written != name) {
    CAY_CHECK(os::replace_file(etc.get(), "hostname", name, 0644));
  }
  const auto hosts = os::read_file(etc.get(), "hosts");
  if (!hosts || hosts->find(" " + name) != std::string::npos) return {};
  return os::replace_file(etc.get(), "hosts", *hosts + own_names(plan_.hostname), 0644);
}

Result<void> GuestRoot::pivot() {
  if (::fchdir(root_.get()) != 0) return failed("enter the new root");
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return failed("pivot_root");
  return {};
}

Result<void> GuestRoot::leave_host() {
  // The old root lies over the new one: taking it off takes every mount of the host with it.
  if (::umount2(".", MNT_DETACH) != 0) return failed("detach the host's mounts");
  if (::chdir("/") != 0) return failed("chdir /");
  return {};
}

}  // namespace cay::launcher
