// btrfs subvolumes and their quota, by ioctl.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace cay::os {

// Whether the descriptor's file system is btrfs.
bool is_btrfs(int fd);

// Switches quota on: simple quota where the kernel has it (6.7), full qgroups otherwise.
// Idempotent.
Result<void> btrfs_enable_quota(int fd);

// Returns "squota" (simple), "qgroup" (full), or empty if there is no quota or the kernel does not
// report it.
std::string btrfs_quota_mode(int fd);

Result<void> btrfs_create_subvolume(int dir, const std::string& name);

enum class SnapshotKind { kReadOnly, kWritable };

// A snapshot of the subvolume whose root `source_fd` is, as `name` in `dir`: of one moment, with
// all that was written before it. It is on the disk when this returns, which may take seconds.
Result<void> btrfs_snapshot(int source_fd, int dir, const std::string& name,
                            SnapshotKind kind = SnapshotKind::kReadOnly);

// At most `bytes` referenced by the subvolume whose root `subvolume_fd` is.
Result<void> btrfs_limit_subvolume(int subvolume_fd, std::uint64_t bytes);

struct BtrfsUsage {
  std::uint64_t bytes = 0;  // counted against the limit, as of the last commit
  std::uint64_t limit = 0;  // 0: none
};

// Reads the quota of the subvolume whose root `subvolume_fd` is. Simple quota counts what was
// written to that subvolume itself. Full qgroups count all that it refers to.
Result<BtrfsUsage> btrfs_usage(int subvolume_fd);

// Files that are made below the directory from here on are overwritten in place (chattr +C). A file
// that is copied on write keeps an old extent whole while a part of it is in use, and each extent
// counts against the limit.
Result<void> btrfs_write_in_place(int dir);

// Removes a subvolume and its qgroup; the kernel frees the space in the background. Absent is
// success; a plain directory of that name is kInvalidArgument.
Result<void> btrfs_delete_subvolume(int dir, const std::string& name);

}  // namespace cay::os
