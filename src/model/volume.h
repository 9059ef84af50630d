// Volume: a named directory that sandboxes of one tenant mount, and that outlives them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"

namespace cay {

struct Volume {
  VolumeId id;
  TenantId tenant;
  std::string name;  // unique in the tenant
  std::uint64_t disk_bytes = 0;
  std::string created_by;
  UnixMillis created_at = 0;
};

// A volume to be made.
struct NewVolume {
  std::string name;
  std::uint64_t disk_bytes = 0;  // its limit; 0: the operator's default
};

// A volume as it is now.
struct VolumeInfo {
  Volume volume;
  std::uint64_t used_bytes = 0;
  std::vector<SandboxId> sandboxes{};  // that mount it, the stopped ones too
  bool disk_lost = false;              // the store does not have its directory
};

// How a sandbox mounts a volume.
//
// One sandbox at a time runs with a volume to write in. Those with `shared` write side by side.
// Any number reads.
struct VolumeMount {
  std::string volume;  // name or id; the name in a sandbox
  std::string path;    // inside, absolute
  bool read_only = false;
  bool shared = false;  // with others that write and are `shared`; not with `read_only`
  bool operator==(const VolumeMount&) const = default;
};
using VolumeMounts = std::vector<VolumeMount>;

// Whether a volume is Cay's own, such as a cache of builds: no user can give such a name. Users do
// not see them.
inline bool is_reserved_volume(const std::string& name) { return !is_valid_name(name); }

}  // namespace cay
