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
  std::vector<SandboxId> sandboxes{};  // that mount it
};

// How a sandbox mounts a volume.
struct VolumeMount {
  std::string volume;  // name or id
  std::string path;    // inside, absolute
  bool read_only = false;
  bool operator==(const VolumeMount&) const = default;
};

}  // namespace cay
