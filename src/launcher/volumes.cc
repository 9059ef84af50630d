#include "launcher/volumes.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "launcher/disks.h"
#include "launcher/validate.h"
#include "os/btrfs.h"
#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

std::string volume_name(const std::string& id) { return kVolumeInStore + id; }

}  // namespace

Result<void> make_volume(const Host& host, const wire::VolumeMsg& wanted) {
  CAY_CHECK(host.disks.need_pool());
  const int store = host.disks.store();
  const std::string name = volume_name(wanted.volume_id);
  const bool fresh = !host.disks.exists(name);
  if (fresh) {
    CAY_CHECK(os::btrfs_create_subvolume(store, name));
  }
  CAY_TRY(const UniqueFd volume, os::open_dir(store, name));
  if (fresh && ::fchmod(volume.get(), 0755) != 0)
    return Error::from_errno(errno, "chmod the volume");
  if (fresh) {  // a full volume takes no change of its flags
    CAY_CHECK(os::btrfs_write_in_place(volume.get()));
  }
  return os::btrfs_limit_subvolume(volume.get(), wanted.limit_bytes);
}

Result<void> remove_volume(const Host& host, const std::string& id) {
  if (!host.disks.need_pool()) return {};
  return os::btrfs_delete_subvolume(host.disks.store(), volume_name(id));
}

Result<std::vector<wire::VolumeMsg>> list_volumes(const Host& host) {
  std::vector<wire::VolumeMsg> volumes;
  if (!host.disks.need_pool()) return volumes;
  constexpr std::string_view kPrefix = kVolumeInStore;
  CAY_TRY(const auto names, host.disks.ids());
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix) || !is_uuid(name.substr(kPrefix.size()))) continue;
    const auto volume = os::open_dir(host.disks.store(), name);
    if (!volume) continue;  // removed meanwhile
    CAY_TRY(const os::BtrfsUsage usage, os::btrfs_usage(volume->get()));
    volumes.push_back({name.substr(kPrefix.size()), usage.limit, usage.bytes});
  }
  return volumes;
}

Result<UniqueFd> mount_volume(const Host& host, const std::string& id) {
  CAY_CHECK(host.disks.need_pool());
  auto mount = os::clone_mount(host.disks.store(), volume_name(id).c_str());
  if (!mount && mount.error().os_errno == ENOENT)
    return Error{Code::kNotFound, "volume_not_found", "volume " + id + " is not in this store", 0};
  if (!mount) return std::move(mount).error().while_doing("mount volume " + id);
  CAY_CHECK(os::set_mount_attributes(mount->get(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  return mount;
}

}  // namespace cay::launcher
