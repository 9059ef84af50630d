#include "launcher/guest_layers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "launcher/init_process.h"
#include "os/file.h"
#include "wire/guest_network.h"

namespace cay::launcher {
namespace {

Result<void> ensure_directory(int dir, const std::string& name, mode_t mode) {
  if (::mkdirat(dir, name.c_str(), mode) != 0 && errno != EEXIST)
    return Error::from_errno(errno, "make directory " + name);
  return {};
}

Result<UniqueFd> make_place(int dir, const std::string& name, mode_t mode) {
  CAY_CHECK(ensure_directory(dir, name, mode));
  return os::open_dir(dir, name);
}

Result<void> make_path(int dir, std::string_view path) {
  CAY_TRY(UniqueFd at, os::open_dir(dir, "."));
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string name(path.substr(0, path.find('/')));
    path.remove_prefix(name.size());
    CAY_TRY(at, make_place(at.get(), name, 0755));
  }
  return {};
}

// Gives `etc` the owner, mode and time of the snapshot's own: overlayfs shows those of the highest
// layer. Returns false if it is no directory there.
Result<bool> be_like_the_snapshots(int etc, const std::vector<UniqueFd>& layers) {
  for (const UniqueFd& layer : layers) {
    struct stat info{};
    if (::fstatat(layer.get(), "etc", &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return Error::from_errno(errno, "look at /etc");
    }
    if (S_ISCHR(info.st_mode) && info.st_rdev == 0) return true;  // removed by that layer
    if (!S_ISDIR(info.st_mode)) return false;
    const timespec times[2] = {info.st_atim, info.st_mtim};
    if (::fchown(etc, info.st_uid, info.st_gid) != 0 || ::fchmod(etc, info.st_mode & 07777) != 0 ||
        ::futimens(etc, times) != 0) {
      return Error::from_errno(errno, "make /etc");
    }
    return true;
  }
  return true;
}

}  // namespace

std::string own_names(const std::string& hostname) {
  const std::string own = " " + hostname + "\n";
  return wire::kGuestV4 + own + (wire::kGuestV6 + own);
}

Result<void> make_base_layer(int staging, const InitPlan& plan) {
  CAY_TRY(const UniqueFd base, make_place(staging, kBaseLayer, 0755));
  for (const char* name : {"proc", "sys", "dev"}) {
    CAY_CHECK(ensure_directory(base.get(), name, 0755));
  }
  if (!plan.builds_layer) {
    CAY_CHECK(ensure_directory(base.get(), "run", 0755));
    CAY_CHECK(ensure_directory(base.get(), "tmp", 01777));
  }
  for (const wire::TmpfsMount& mount : plan.tmpfs) {
    CAY_CHECK(make_path(base.get(), mount.path));
  }
  for (const wire::DiskMountMsg& mount : plan.mounts) {
    CAY_CHECK(make_path(base.get(), mount.path));
  }
  for (const std::string& path : plan.hidden_paths) {
    CAY_CHECK(make_path(base.get(), path));
  }
  return {};
}

Result<bool> make_names_layer(int staging, const InitPlan& plan,
                              const std::vector<UniqueFd>& layers) {
  if (plan.builds_layer) return false;
  CAY_TRY(const UniqueFd names, make_place(staging, kNamesLayer, 0755));
  CAY_TRY(const UniqueFd etc, make_place(names.get(), "etc", 0755));
  CAY_CHECK(os::make_file(etc.get(), "hostname", plan.hostname + "\n", 0644));
  CAY_CHECK(os::make_file(
      etc.get(), "hosts",
      "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n" + own_names(plan.hostname),
      0644));
  if (plan.network != nullptr) {
    CAY_CHECK(os::make_file(etc.get(), "resolv.conf",
                            "nameserver " + std::string(wire::kGuestResolver) + "\n", 0644));
  }
  return be_like_the_snapshots(etc.get(), layers);
}

}  // namespace cay::launcher
