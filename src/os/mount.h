// The mount API by descriptors (Linux 5.12): mounts are made detached, given their attributes, and
// only then attached, so no half-made mount is ever visible.
#pragma once
#include <sys/mount.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::os {

// A file system option; an empty value is a flag.
using MountOption = std::pair<const char*, std::string>;

// A detached mount of a new (or, for a block device in use, the same) instance of file system
// `type`. `attributes` are MOUNT_ATTR_*. The error's message ends with the kernel's own words, if
// it has any.
Result<UniqueFd> new_mount(const char* type, std::initializer_list<MountOption> options,
                           std::uint64_t attributes);

// A detached copy of the mount at `path` under `dir` (without its submounts); an empty path copies
// what `dir` itself is. Symbolic links are not followed.
Result<UniqueFd> clone_mount(int dir, const char* path);

// Adds MOUNT_ATTR_* to a mount; `userns_fd` >= 0 maps its ids as well (only for a detached mount).
Result<void> set_mount_attributes(int mount_fd, std::uint64_t attributes, int userns_fd = -1);

// Moves the mount at `path` under `dir`, with all that is mounted in it, onto what `point` is.
Result<void> move_mount_tree(int dir, const char* path, int point);

// Attaches a detached mount; an empty `path` attaches it on what `dir` itself is.
Result<void> attach_mount(int mount_fd, int dir, const char* path);

}  // namespace cay::os
