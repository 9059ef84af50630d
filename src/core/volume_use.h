// These functions find the volumes of a sandbox, check that no other sandbox writes in them, and
// list the mounts for its boot.
#pragma once
#include <string>
#include <vector>

#include "core/registry.h"
#include "model/volume.h"

namespace cay::core {

Error volume_not_found(const std::string& ref);

// Returns the tenant's volume of this name or id. Reserved names are not found. Fails kNotFound
// (volume_not_found).
Result<Volume> find_volume(VolumeStore& kept, const TenantId& tenant, const std::string& ref);

// Returns the mounts with the names of their volumes. Fails kNotFound (volume_not_found).
Result<VolumeMounts> named_volumes(VolumeStore& kept, const TenantId& tenant, VolumeMounts mounts);

// Fails kConflict (volume_in_use): another sandbox runs or starts, and both would write.
Result<void> check_writers(const Registry& registry, const Sandbox& row);

// Returns what a boot of this sandbox mounts. Fails kNotFound (volume_not_found).
Result<std::vector<DiskMount>> disk_mounts(VolumeStore& kept, const Sandbox& row);

}  // namespace cay::core
