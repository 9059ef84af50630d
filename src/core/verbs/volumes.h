// Volumes: named directories of a tenant that sandboxes mount, and that outlive them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "async/task.h"
#include "model/principal.h"
#include "model/volume.h"

namespace cay::core {

// `ref` is a name or an id.
class Volumes {
 public:
  virtual ~Volumes() = default;
  // Fails kAlreadyExists (volume_exists), kInvalidArgument (invalid_name), kUnsupported
  // (no_volumes), kExhausted (quota_storage).
  virtual Task<VolumeInfo> create(Principal who, NewVolume made) = 0;
  virtual Task<std::vector<VolumeInfo>> list(Principal who) = 0;
  // Fails kNotFound (volume_not_found).
  virtual Task<VolumeInfo> get(Principal who, std::string ref) = 0;
  // Changes its limit.
  virtual Task<VolumeInfo> resize(Principal who, std::string ref, std::uint64_t disk_bytes) = 0;
  // Fails kConflict (volume_in_use): the message names a sandbox that mounts it.
  virtual Task<void> remove(Principal who, std::string ref) = 0;
};

}  // namespace cay::core
