#include "launcher/guest_trees.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "launcher/devices.h"
#include "launcher/guest_mounts.h"
#include "launcher/kernel_view.h"
#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

// All terminals outside the host's own /dev/pts come out of one number (4096 - 1024): no sandbox
// takes them all.
constexpr const char* kMaxTerminals = "128";

constexpr std::size_t kStagingBytes = 192 << 10;  // at most: what is not used costs nothing

constexpr std::uint64_t kPlainTree = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kDataTree = kPlainTree | MOUNT_ATTR_NOEXEC;

Result<void> make_place_in(int dir, const char* name, mode_t mode) {
  if (::mkdirat(dir, name, mode) != 0)
    return Error::from_errno(errno, std::string("make directory ") + name);
  return {};
}

Result<void> attach_devices(int staging, const UniqueFd& devices) {
  CAY_CHECK(make_place_in(staging, kDeviceNodes, 0755));
  return os::attach_mount(devices.get(), staging, kDeviceNodes);
}

}  // namespace

Result<void> GuestTrees::make(const TreePlan& plan, UniqueFd devices) {
  struct Step {
    const char* name;
    Result<void> (GuestTrees::*run)(const TreePlan& plan);
  };
  static constexpr Step kSteps[] = {
      {"mount /sys", &GuestTrees::make_sys},  // while the host's is visible, as the kernel demands
      {"mount /dev", &GuestTrees::make_dev},
      {"mount /run", &GuestTrees::make_run},
  };
  auto staging = make_staging(plan);
  if (!staging) return std::move(staging).error().while_doing("prepare mounts");
  auto attached = attach_devices(staging_.get(), devices);
  if (!attached) return std::move(attached).error().while_doing("attach the device nodes");
  for (const Step& step : kSteps) {
    if (plan.fail_step == step.name) return Error::from_errno(EIO, step.name);
    auto done = (this->*step.run)(plan);
    if (!done) return std::move(done).error().while_doing(step.name);
  }
  return {};
}

std::vector<int> GuestTrees::descriptors() const {
  std::vector<int> all{staging_.get()};
  const std::vector<int> covers = covers_.descriptors();
  all.insert(all.end(), covers.begin(), covers.end());
  return all;
}

void GuestTrees::adopt(std::vector<UniqueFd> descriptors) {
  if (descriptors.empty()) return;
  staging_ = std::move(descriptors.front());
  descriptors.erase(descriptors.begin());
  covers_.adopt(staging_.get(), std::move(descriptors));
}

Result<void> GuestTrees::make_staging(const TreePlan& plan) {
  CAY_TRY(staging_,
          os::new_mount("tmpfs",
                        {{"source", "mask"},
                         {"size", std::to_string(kStagingBytes + plan.cpus.cpuinfo.size())},
                         {"mode", "0755"}},
                        kDataTree));
  CAY_CHECK(os::attach_mount(staging_.get(), AT_FDCWD, plan.staging.c_str()));
  for (const char* name : {"root", "disk", "proc", "sys", "sysfs", "dev", "run"}) {
    CAY_CHECK(make_place_in(staging_.get(), name, 0755));
  }
  return covers_.make(staging_.get(), plan);
}

Result<void> GuestTrees::make_sys(const TreePlan& plan) {
  auto sys = os::new_mount("sysfs", {{"source", "sysfs"}}, kDataTree | MOUNT_ATTR_RDONLY);
  // A host that itself sees only a part of /sys may not show more of it: then nothing of the
  // kernel's is there.
  if (!sys && sys.error().os_errno != EPERM) return std::move(sys).error();
  // The whole of it stays in staging, which goes with the host's mounts.
  if (sys) {
    CAY_CHECK(os::attach_mount(sys->get(), staging_.get(), "sysfs"));
  }
  CAY_TRY(const UniqueFd frame, os::clone_mount(staging_.get(), "sys"));
  CAY_CHECK(os::attach_mount(frame.get(), staging_.get(), "sys"));
  CAY_CHECK(build_sys(sys ? sys->get() : -1, frame.get(), plan.cpus));
  return os::set_mount_attributes(frame.get(), MOUNT_ATTR_RDONLY | kDataTree);
}

Result<void> GuestTrees::make_dev(const TreePlan& plan) {
  CAY_TRY(const UniqueFd point, os::open_dir(staging_.get(), "dev"));
  CAY_TRY(const UniqueFd devices, os::open_dir(staging_.get(), kDeviceNodes));
  CAY_TRY(const UniqueFd dev,
          put_tmpfs(point.get(), 1 << 20, "0755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  for (const Device& device : kDevices) {
    CAY_TRY(const UniqueFd node, os::clone_mount(devices.get(), device.name));
    CAY_CHECK(os::make_file(dev.get(), device.name, "", 0666));
    CAY_CHECK(os::attach_mount(node.get(), dev.get(), device.name));
  }
  constexpr std::pair<const char*, const char*> kLinks[] = {{"fd", "/proc/self/fd"},
                                                            {"stdin", "/proc/self/fd/0"},
                                                            {"stdout", "/proc/self/fd/1"},
                                                            {"stderr", "/proc/self/fd/2"},
                                                            {"ptmx", "pts/ptmx"}};
  for (const auto& [name, target] : kLinks) {
    if (::symlinkat(target, dev.get(), name) != 0) return Error::from_errno(errno, "link in /dev");
  }
  CAY_CHECK(make_place_in(dev.get(), "pts", 0755));
  // devpts must not be nodev: its nodes are all it has. No uid: a terminal belongs to who opens it,
  // and who owns one may open it by its name. A command's own is opened by its child as its user
  // (keeper/terminal.h).
  CAY_TRY(const UniqueFd pts, os::new_mount("devpts",
                                            {{"source", "devpts"},
                                             {"mode", "0620"},
                                             {"ptmxmode", "0666"},
                                             {"gid", "5"},
                                             {"max", kMaxTerminals},
                                             {"newinstance", ""}},
                                            MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  CAY_CHECK(os::attach_mount(pts.get(), dev.get(), "pts"));
  CAY_CHECK(make_place_in(dev.get(), "shm", 01777));
  CAY_TRY(const UniqueFd shm_point, os::open_dir(dev.get(), "shm"));
  CAY_TRY(const UniqueFd shm,
          put_tmpfs(shm_point.get(), plan.memory_bytes / 2, "1777", kPlainTree));
  CAY_CHECK(make_place_in(dev.get(), "mqueue", 0755));
  CAY_TRY(const UniqueFd mqueue, os::new_mount("mqueue", {{"source", "mqueue"}}, kDataTree));
  return os::attach_mount(mqueue.get(), dev.get(), "mqueue");
}

Result<void> GuestTrees::make_run(const TreePlan& plan) {
  CAY_TRY(const UniqueFd run, os::open_dir(staging_.get(), "run"));
  const std::uint64_t run_bytes =
      std::min<std::uint64_t>(plan.memory_bytes / 8, std::uint64_t{64} << 20);
  CAY_TRY(const UniqueFd in_run, put_tmpfs(run.get(), run_bytes, "0755", kPlainTree));
  return make_place_in(in_run.get(), "lock", 01777);
}

}  // namespace cay::launcher
