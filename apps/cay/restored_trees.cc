#include "restored_trees.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <string_view>

#include "archive/tree_digest.h"
#include "launcher/disks.h"
#include "launcher/validate.h"
#include "os/btrfs.h"
#include "os/file.h"
#include "snapshot_layers.h"

namespace cay::app {
namespace {

constexpr const char* kRestoring = "restoring-";  // begins the name of a layer that comes in
constexpr std::string_view kSealed = "sealed/";
constexpr std::string_view kVolumes = "volumes/";

}  // namespace

Error not_a_backup(const std::string& why) {
  return {Code::kInvalidArgument, "not_a_backup",
          "this is no backup of Cay's, or a damaged one: " + why, 0};
}

Result<UniqueFd> make_plain_directory(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0) return Error::from_errno(errno, "make " + name);
  return os::open_dir(parent, name);
}

Result<void> RestoredTrees::need_pool() const {
  if (disks_.pooled) return {};
  return Error{Code::kUnsupported, "no_layers",
               "the backup has layers or volumes, which need a pool of disks, and this host makes "
               "none: apt-get install btrfs-progs, and restore again",
               0};
}

Result<void> RestoredTrees::make_above(const std::string& name,
                                       const std::vector<std::string>& stack) const {
  const auto nearest =
      std::ranges::find_if(stack, [&](const std::string& id) { return layers_.contains(id); });
  const std::string layer = nearest == stack.end() ? std::string() : *nearest;
  const std::string origin = layer.empty() ? layer : kRestoring + layer;
  return launcher::make_disk_above(disks_.dir.get(), name, origin, layer);
}

Result<UniqueFd> RestoredTrees::make_disk(const std::string& id, const std::string& layer) {
  if (!disks_.pooled) return make_plain_directory(disks_.dir.get(), id);
  CAY_CHECK(make_above(id, stack_in(data_, layer)));
  return os::open_dir(disks_.dir.get(), id);
}

Result<UniqueFd> RestoredTrees::make_layer(const std::string& id) {
  CAY_CHECK(need_pool());
  CAY_CHECK(make_above(kRestoring + id, stack_in(data_, id)));
  layers_.insert(id);
  return os::open_dir(disks_.dir.get(), kRestoring + id + "/upper");
}

Result<UniqueFd> RestoredTrees::make_volume(const std::string& id) {
  CAY_CHECK(need_pool());
  const std::string name = launcher::kVolumeInStore + id;
  CAY_CHECK(os::btrfs_create_subvolume(disks_.dir.get(), name));
  CAY_TRY(UniqueFd volume, os::open_dir(disks_.dir.get(), name));
  CAY_CHECK(os::btrfs_write_in_place(volume.get()));
  return volume;
}

// `name`: of the tree in the archive.
Result<UniqueFd> RestoredTrees::open_tree(const std::string& name) const {
  const bool layer = name.starts_with(kSealed);
  if (!layer && !name.starts_with(kVolumes)) return not_a_backup("'" + name + "'");
  const std::string id = name.substr(layer ? kSealed.size() : kVolumes.size());
  if (!launcher::is_uuid(id)) return not_a_backup("'" + name + "'");
  const std::string place =
      layer ? kRestoring + id + "/upper" : std::string(launcher::kVolumeInStore) + id;
  auto dir = os::open_dir(disks_.dir.get(), place);
  if (!dir) return not_a_backup(name + " is missing");
  return dir;
}

Result<void> RestoredTrees::check(const std::string& digests) const {
  boost::json::error_code failed;
  const auto parsed = boost::json::parse(digests, failed);
  if (failed || !parsed.is_object()) return not_a_backup("it has no cay-digests.json");
  for (const auto& member : parsed.get_object()) {
    const std::string name(member.key());
    CAY_TRY(const UniqueFd tree, open_tree(name));
    CAY_TRY(const std::string found, archive::tree_digest(tree.get()));
    const auto* expected = member.value().if_string();
    if (expected == nullptr || found != std::string_view(*expected))
      return not_a_backup(name + " differs from what was backed up");
  }
  return {};
}

Result<void> RestoredTrees::seal_layers() const {
  const int store = disks_.dir.get();
  for (const std::string& id : layers_) {
    {
      CAY_TRY(const UniqueFd disk, os::open_dir(store, kRestoring + id));
      CAY_CHECK(os::btrfs_snapshot(disk.get(), store, launcher::kLayerInStore + id));
    }
    CAY_CHECK(os::btrfs_delete_subvolume(store, kRestoring + id));
  }
  return {};
}

Result<void> RestoredTrees::limit_volumes(const std::vector<store::StoredVolume>& volumes) const {
  for (const auto& volume : volumes) {
    auto dir = os::open_dir(disks_.dir.get(), launcher::kVolumeInStore + volume.id);
    if (!dir && dir.error().os_errno == ENOENT) continue;
    if (!dir) return std::move(dir).error();
    CAY_CHECK(os::btrfs_limit_subvolume(dir->get(), volume.disk_bytes));
  }
  return {};
}

}  // namespace cay::app
