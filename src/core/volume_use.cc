#include "core/volume_use.h"

#include <algorithm>
#include <utility>

namespace cay::core {
namespace {

// Whether what it writes may still reach a volume.
bool may_write_now(const Entry& entry) { return entry.boot || entry.room || entry.runs(); }

bool both_write(const VolumeMount& one, const VolumeMount& other) {
  if (one.volume != other.volume || one.read_only || other.read_only) return false;
  return !one.shared || !other.shared;
}

}  // namespace

Error volume_not_found(const std::string& ref) {
  return {Code::kNotFound, "volume_not_found",
          "no volume '" + ref.substr(0, 200) + "': list the volumes to see the names", 0};
}

Result<Volume> find_volume(VolumeStore& kept, const TenantId& tenant, const std::string& ref) {
  CAY_TRY(auto all, kept.all());
  for (Volume& one : all) {
    if (one.tenant != tenant || is_reserved_volume(one.name)) continue;
    if (one.name == ref || one.id.get() == ref) return std::move(one);
  }
  return volume_not_found(ref);
}

Result<VolumeMounts> named_volumes(VolumeStore& kept, const TenantId& tenant, VolumeMounts mounts) {
  for (VolumeMount& mount : mounts) {
    CAY_TRY(Volume volume, find_volume(kept, tenant, mount.volume));
    mount.volume = std::move(volume.name);
  }
  return mounts;
}

Result<void> check_writers(const Registry& registry, const Sandbox& row) {
  if (row.volumes.empty()) return {};
  for (const auto& other : registry.entries()) {
    if (other->row.tenant != row.tenant || other->row.id == row.id || !may_write_now(*other))
      continue;
    for (const VolumeMount& mount : row.volumes) {
      const auto same = std::ranges::find_if(
          other->row.volumes, [&](const VolumeMount& one) { return both_write(mount, one); });
      if (same == other->row.volumes.end()) continue;
      return Error{Code::kConflict, "volume_in_use",
                   "volume '" + mount.volume + "' is written by sandbox '" + other->row.name +
                       "': stop that one, mount it read-only, or let both mount it shared",
                   0};
    }
  }
  return {};
}

Result<std::vector<DiskMount>> disk_mounts(VolumeStore& kept, const Sandbox& row) {
  std::vector<DiskMount> out;
  for (const VolumeMount& mount : row.volumes) {
    CAY_TRY(const Volume volume, find_volume(kept, row.tenant, mount.volume));
    out.push_back({.path = mount.path, .volume = volume.id, .read_only = mount.read_only});
  }
  return out;
}

}  // namespace cay::core
