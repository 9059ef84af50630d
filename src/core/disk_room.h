// DiskRoom: what goes into sandboxes leaves the host's own disk its reserve. A pool file is sparse: where the disk
// behind it is full, what was taken could no longer be kept, and its sender had been told otherwise.
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

// Fails kUnavailable (host_disk_full) before the first byte, and as soon as what was sent would reach into the
// reserve: also what the kernel has not written yet counts.
std::unique_ptr<ByteSource> within_room(std::unique_ptr<ByteSource> inner, DiskRoom room);
std::unique_ptr<TreeSource> within_room(std::unique_ptr<TreeSource> inner, DiskRoom room);

}  // namespace cay::core
