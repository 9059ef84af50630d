#include "os/btrfs.h"

#include <endian.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/file.h"

namespace cay::os {
namespace {

constexpr std::uint64_t kEnableSimple =
    4;  // BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA, newer than our headers

bool fill_name(char* to, std::size_t size, const std::string& name) {
  if (name.size() >= size) return false;
  std::memcpy(to, name.c_str(), name.size() + 1);
  return true;
}

// Returns the id of the subvolume that `fd` lies in, or 0 if it is not known.
std::uint64_t subvolume_id(int fd) {
  btrfs_ioctl_ino_lookup_args args{};
  args.objectid = BTRFS_FIRST_FREE_OBJECTID;
  return ::ioctl(fd, BTRFS_IOC_INO_LOOKUP, &args) == 0 ? args.treeid : 0;
}

}  // namespace

bool is_btrfs(int fd) {
  struct statfs info{};
  return ::fstatfs(fd, &info) == 0 && info.f_type == BTRFS_SUPER_MAGIC;
}

Result<void> btrfs_enable_quota(int fd) {
  btrfs_ioctl_quota_ctl_args args{};
  args.cmd = kEnableSimple;
  if (::ioctl(fd, BTRFS_IOC_QUOTA_CTL, &args) == 0 || errno == EEXIST) return {};
  args = {};
  args.cmd = BTRFS_QUOTA_CTL_ENABLE;
  if (::ioctl(fd, BTRFS_IOC_QUOTA_CTL, &args) == 0 || errno == EEXIST) return {};
  return Error::from_errno(errno, "switch btrfs quota on");
}

std::string btrfs_quota_mode(int fd) {
  btrfs_ioctl_fs_info_args info{};
  if (::ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) return {};
  // /sys names a file system by its UUID, as text: 8-4-4-4-12 digits.
  std::string uuid;
  for (std::size_t i = 0; i < sizeof info.fsid; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid += '-';
    uuid += kDigits[info.fsid[i] >> 4];
    uuid += kDigits[info.fsid[i] & 15];
  }
  const std::string dir = "/sys/fs/btrfs/" + uuid + "/qgroups";
  if (::access(dir.c_str(), F_OK) != 0) return {};
  auto mode = read_file(AT_FDCWD, dir + "/mode", 64);
  if (!mode) return "qgroup";  // before simple quota (6.7) there is no such file, and no other kind
  return mode->substr(0, mode->find('\n'));
}

Result<void> btrfs_create_subvolume(int dir, const std::string& name) {
  btrfs_ioctl_vol_args args{};
  if (!fill_name(args.name, sizeof args.name, name))
    return Error::from_errno(ENAMETOOLONG, "create subvolume");
  if (::ioctl(dir, BTRFS_IOC_SUBVOL_CREATE, &args) != 0)
    return Error::from_errno(errno, "create subvolume " + name);
  return {};
}

Result<void> btrfs_snapshot(int source_fd, int dir, const std::string& name, SnapshotKind kind) {
  btrfs_ioctl_vol_args_v2 args{};
  if (!fill_name(args.name, sizeof args.name, name))
    return Error::from_errno(ENAMETOOLONG, "snapshot subvolume");
  args.fd = source_fd;
  args.flags = kind == SnapshotKind::kReadOnly ? BTRFS_SUBVOL_RDONLY : 0;
  if (::ioctl(dir, BTRFS_IOC_SNAP_CREATE_V2, &args) != 0)
    return Error::from_errno(errno, "snapshot subvolume " + name);
  return {};
}

Result<void> btrfs_limit_subvolume(int subvolume_fd, std::uint64_t bytes) {
  btrfs_ioctl_qgroup_limit_args args{};  // qgroupid 0: the subvolume's own
  args.lim.flags = BTRFS_QGROUP_LIMIT_MAX_RFER;
  args.lim.max_rfer = bytes;
  if (::ioctl(subvolume_fd, BTRFS_IOC_QGROUP_LIMIT, &args) != 0)
    return Error::from_errno(errno, "limit subvolume");
  return {};
}

Result<BtrfsUsage> btrfs_usage(int subvolume_fd) {
  const std::uint64_t id = subvolume_id(subvolume_fd);
  BtrfsUsage usage;
  for (const int type : {BTRFS_QGROUP_INFO_KEY, BTRFS_QGROUP_LIMIT_KEY}) {
    btrfs_ioctl_search_args args{};
    args.key.tree_id = BTRFS_QUOTA_TREE_OBJECTID;
    args.key.min_type = args.key.max_type = static_cast<std::uint32_t>(type);
    args.key.min_offset = args.key.max_offset = id;
    args.key.max_transid = ~std::uint64_t{0};
    args.key.nr_items = 1;
    if (::ioctl(subvolume_fd, BTRFS_IOC_TREE_SEARCH, &args) != 0)
      return Error::from_errno(errno, "read a subvolume's quota");
    if (args.key.nr_items == 0) continue;
    const char* item = args.buf + sizeof(btrfs_ioctl_search_header);
    if (type == BTRFS_QGROUP_INFO_KEY) {
      btrfs_qgroup_info_item info;
      std::memcpy(&info, item, sizeof info);
      usage.bytes = le64toh(info.rfer);
    } else {
      btrfs_qgroup_limit_item limit;
      std::memcpy(&limit, item, sizeof limit);
      usage.limit = le64toh(limit.max_rfer);
    }
  }
  return usage;
}

Result<void> btrfs_write_in_place(int dir) {
  int flags = 0;
  if (::ioctl(dir, FS_IOC_GETFLAGS, &flags) != 0)
    return Error::from_errno(errno, "look at the disk's flags");
  flags |= FS_NOCOW_FL;
  if (::ioctl(dir, FS_IOC_SETFLAGS, &flags) != 0)
    return Error::from_errno(errno, "set the disk's flags");
  return {};
}

Result<void> btrfs_delete_subvolume(int dir, const std::string& name) {
  // Newer kernels (6.12) keep the qgroup until the space is freed, and then remove it themselves.
  static bool kernel_removes_qgroups = false;
  std::uint64_t id = 0;
  if (!kernel_removes_qgroups) {
    auto subvolume = open_dir(dir, name);
    if (!subvolume) {
      if (subvolume.error().os_errno == ENOENT) return {};
      return std::move(subvolume).error();
    }
    id = subvolume_id(subvolume->get());
  }
  btrfs_ioctl_vol_args args{};
  if (!fill_name(args.name, sizeof args.name, name))
    return Error::from_errno(ENAMETOOLONG, "delete subvolume");
  if (::ioctl(dir, BTRFS_IOC_SNAP_DESTROY, &args) != 0 && errno != ENOENT) {
    return Error::from_errno(errno, "delete subvolume " + name);
  }
  if (id != 0) {
    btrfs_ioctl_qgroup_create_args qgroup{};
    qgroup.create = 0;
    qgroup.qgroupid = id;
    kernel_removes_qgroups = ::ioctl(dir, BTRFS_IOC_QGROUP_CREATE, &qgroup) != 0 && errno == EBUSY;
  }
  return {};
}

}  // namespace cay::os
