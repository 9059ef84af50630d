// Volumes: directories of the store that several sandboxes mount. Each is a subvolume volume-ID
// with a limit of its own, and does not count against the limits of sandboxes.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/host.h"
#include "wire/messages.h"

namespace cay::launcher {

// Makes it, or changes its limit. kUnsupported (no_layers).
Result<void> make_volume(const Host& host, const wire::VolumeMsg& wanted);
Result<void> remove_volume(const Host& host, const std::string& id);  // idempotent
Result<std::vector<wire::VolumeMsg>> list_volumes(const Host& host);
// Returns a detached mount of it. kNotFound (volume_not_found).
Result<UniqueFd> mount_volume(const Host& host, const std::string& id);

}  // namespace cay::launcher
