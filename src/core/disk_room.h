// DiskRoom: keeps the reserve of the host's own disk free of what goes into sandboxes. A pool file
// is sparse: once the disk behind it is full, accepted bytes could not be kept.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "core/ports/runtime.h"

namespace cay::core {

struct DiskRoom {
  std::function<std::uint64_t()> free_bytes;  // empty: not known, nothing is refused
  std::uint64_t reserve_bytes = 0;
};

// Fails kUnavailable (host_disk_full) before the first byte, and as soon as the sent bytes would
// reach into the reserve. Bytes that the kernel has not written yet count, too.
std::unique_ptr<ByteSource> within_room(std::unique_ptr<ByteSource> inner, DiskRoom room);
std::unique_ptr<TreeSource> within_room(std::unique_ptr<TreeSource> inner, DiskRoom room);

}  // namespace cay::core
