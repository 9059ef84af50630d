#include "launcher/disks.h"

#include <fcntl.h>
#include <linux/btrfs_tree.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "os/btrfs.h"
#include "os/file.h"
#include "os/loop_device.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

constexpr std::uint64_t kMaxPool = std::uint64_t{1} << 40;
constexpr std::uint64_t kMinPool = std::uint64_t{256} << 20;  // btrfs wants 109 MiB, and some room
constexpr std::uint64_t kMountRoom = std::uint64_t{16}
                                     << 20;  // btrfs reserves far more than a directory takes
constexpr std::uint64_t kNoHostRights = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr const char* kPoolFile = "pool.img";
constexpr const char* kNewPoolFile = "pool.img.new";

// Formats a loop device. By device, not by path: the owner of DATA could swap the path meanwhile.
Result<void> format(const std::string& device) {
  const char* program = nullptr;
  for (const char* path : {"/usr/sbin/mkfs.btrfs", "/sbin/mkfs.btrfs", "/usr/bin/mkfs.btrfs"}) {
    if (program == nullptr && ::access(path, X_OK) == 0) program = path;
  }
  if (program == nullptr) {
    return Error{Code::kUnsupported, "no_mkfs_btrfs",
                 "mkfs.btrfs is missing: apt-get install btrfs-progs", 0};
  }
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno(errno, "fork");
  if (pid == 0) {
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    char* const environment[] = {nullptr};
    const char* arguments[] = {program, "-q",       "-f",           "-m",   "single",
                               "-L",    "cay-pool", device.c_str(), nullptr};
    ::execve(program, const_cast<char* const*>(arguments),
             environment);  // execve does not write to them
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) {
    return Error{Code::kInternal, "mkfs_failed",
                 std::string(program) + " failed (wait status " + std::to_string(status) + ")", 0};
  }
  return {};
}

Result<void> check_pool_file(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return Error::from_errno(errno, "stat pool.img");
  if (!S_ISREG(info.st_mode) || info.st_uid != 0 || (info.st_mode & 077) != 0 ||
      info.st_nlink != 1) {
    return Error{Code::kPermissionDenied, "unsafe_pool",
                 "DATA/pool.img is not a plain file of root's with mode 0600: it was put there by "
                 "somebody else; move it "
                 "away and start again",
                 0};
  }
  return {};
}

Result<UniqueFd> mount_pool(int pool_fd) {
  CAY_TRY(const os::LoopDevice loop, os::attach_loop(pool_fd));
  auto mount = os::new_mount("btrfs", {{"source", loop.path}, {"discard", "async"}},
                             kNoHostRights | MOUNT_ATTR_NOATIME);
  if (!mount) return std::move(mount).error().while_doing("mount DATA/pool.img");
  return mount;
}

Result<UniqueFd> make_pool(int data_dir, std::uint64_t bytes) {
  if (bytes == 0) {
    struct statvfs space{};
    if (::fstatvfs(data_dir, &space) != 0)
      return Error::from_errno(errno, "measure the data directory");
    bytes = std::min(kMaxPool, std::uint64_t{space.f_bavail} * space.f_frsize / 10 * 8);
  }
  bytes &= ~std::uint64_t{4095};
  if (bytes < kMinPool) {
    return Error{Code::kExhausted, "no_space", "less than 320 MiB are free for a pool file", 0};
  }
  const UniqueFd file(
      ::openat(data_dir, kNewPoolFile, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return Error::from_errno(errno, "create pool.img");
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return Error::from_errno(errno, "size pool.img");
  {
    CAY_TRY(const os::LoopDevice loop, os::attach_loop(file.get()));
    CAY_CHECK(format(loop.path));
    CAY_TRY(const UniqueFd mount,
            os::new_mount("btrfs", {{"source", loop.path}}, kNoHostRights | MOUNT_ATTR_NOATIME));
    CAY_TRY(const UniqueFd root,
            os::open_dir(mount.get(), "."));  // a mount's own descriptor takes no ioctls
    CAY_CHECK(os::btrfs_enable_quota(root.get()));
  }
  if (::renameat(data_dir, kNewPoolFile, data_dir, kPoolFile) != 0)
    return Error::from_errno(errno, "rename pool.img");
  return mount_pool(file.get());
}

constexpr const char* kCopy = "disk";  // in a directory kMakingInStore
constexpr const char* kUpper = "upper";
constexpr const char* kWork = "work";
constexpr const char* kBelow = "below";      // of a disk: the files of layers that were set aside
constexpr const char* kCounted = "counted";  // bytes that its qgroup counted when it began

Result<void> make_trees(int disk) {
  for (const char* name : {kUpper, kWork}) {
    if (::mkdirat(disk, name, 0755) != 0 || ::fchmodat(disk, name, 0755, 0) != 0) {
      return Error::from_errno(errno, std::string("make ") + name);
    }
  }
  return {};
}

Result<void> set_aside(int disk, const std::string& layer) {
  if (::mkdirat(disk, kBelow, 0700) != 0 && errno != EEXIST)
    return Error::from_errno(errno, "make a place for a layer's files");
  const std::string at = std::string(kBelow) + "/" + layer;
  if (::mkdirat(disk, at.c_str(), 0700) != 0)
    return Error::from_errno(errno, "make a place for a layer's files");
  for (const std::string name : {kUpper, kWork}) {
    if (::renameat(disk, name.c_str(), disk, (at + "/" + name).c_str()) != 0)
      return Error::from_errno(errno, "set a layer's files aside");
  }
  return make_trees(disk);
}

std::string spare_name(const std::string& layer, int number) {
  return kSpareInStore + layer + "." + std::to_string(number);
}

// Full qgroups count what a disk shares with its origin. Its limit is raised by that.
Result<void> note_what_is_counted(int store, int disk) {
  if (os::btrfs_quota_mode(store) != "qgroup") return {};
  CAY_TRY(const os::BtrfsUsage usage, os::btrfs_usage(disk));
  return os::replace_file(disk, kCounted, std::to_string(usage.bytes), 0600);
}

}  // namespace

Result<void> make_disk_above(int store, const std::string& name, const std::string& origin,
                             const std::string& layer) {
  if (!origin.empty()) {
    CAY_TRY(const UniqueFd source, os::open_dir(store, origin));
    CAY_CHECK(os::btrfs_snapshot(source.get(), store, name, os::SnapshotKind::kWritable));
    CAY_TRY(const UniqueFd disk, os::open_dir(store, name));
    CAY_CHECK(note_what_is_counted(store, disk.get()));
    return set_aside(disk.get(), layer);
  }
  CAY_CHECK(os::btrfs_create_subvolume(store, name));
  CAY_TRY(const UniqueFd disk, os::open_dir(store, name));
  if (::fchmod(disk.get(), 0755) != 0) return Error::from_errno(errno, "chmod the disk");
  CAY_CHECK(os::btrfs_write_in_place(disk.get()));
  return make_trees(disk.get());
}

Result<Disks> Disks::open(int data_dir, const Config& config) {
  Disks disks;
  CAY_TRY(disks.store_, os::ensure_dir(data_dir, "store", 0, 0, 0700));
  CAY_CHECK(os::remove_tree(data_dir, kNewPoolFile));  // of a start that was cut short
  Result<UniqueFd> mount;
  const UniqueFd file(::openat(data_dir, kPoolFile, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (file) {
    CAY_CHECK(check_pool_file(file.get()));
    mount = mount_pool(file.get());
    if (!mount) return std::move(mount).error();
  } else if (errno != ENOENT) {
    return Error::from_errno(errno, "open DATA/pool.img");
  } else if (config.plain_disks) {
    disks.why_plain_ = "switched off";
    return disks;
  } else {
    mount = make_pool(data_dir, config.pool_bytes);
    if (!mount) {
      (void)os::remove_tree(data_dir, kNewPoolFile);
      disks.why_plain_ = mount.error().message;
      return disks;
    }
  }
  // By descriptor: the owner of DATA may swap names at any moment.
  CAY_CHECK(os::attach_mount(mount->get(), disks.store_.get(), ""));
  CAY_TRY(disks.store_, os::open_dir(mount->get(), "."));
  if (::fchmod(disks.store_.get(), 0700) != 0) return Error::from_errno(errno, "chmod DATA/store");
  disks.pooled_ = true;
  disks.enforced_by_ = "btrfs qgroup";
  return disks;
}

bool Disks::exists(const std::string& id) const {
  struct stat info{};
  return ::fstatat(store_.get(), id.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<void> Disks::need_pool() const {
  if (pooled_) return {};
  return Error{
      Code::kUnsupported, "no_layers",
      "snapshots of sandboxes, forks, images and volumes need the pool of disks, and there "
      "is none (" +
          why_plain_ + "): apt-get install btrfs-progs, and restart the launcher",
      0};
}

Result<void> Disks::copy(const std::string& id, const DiskOrigin& origin) {
  CAY_CHECK(need_pool());
  const bool fork = !origin.sandbox.empty();
  const std::string from = fork ? origin.sandbox : kLayerInStore + origin.layer;
  const std::string making = kMakingInStore + id;
  CAY_CHECK(remove_half_made(making));
  auto source = os::open_dir(store_.get(), from);
  if (!source) return std::move(source).error().while_doing("copy the disk of " + from);
  // The kernel locks the directory of a snapshot until its commit ends. In a directory of its own
  // a copy shares the commit of others, and holds up no change of the store.
  if (::mkdirat(store_.get(), making.c_str(), 0700) != 0)
    return Error::from_errno(errno, "make a place for the new disk");
  CAY_TRY(const UniqueFd place, os::open_dir(store_.get(), making));
  CAY_CHECK(os::btrfs_snapshot(source->get(), place.get(), kCopy, os::SnapshotKind::kWritable));
  CAY_TRY(const UniqueFd disk, os::open_dir(place.get(), kCopy));
  CAY_CHECK(note_what_is_counted(store_.get(), disk.get()));
  if (!fork) {
    CAY_CHECK(set_aside(disk.get(), origin.layer));
  }
  if (::renameat(place.get(), kCopy, store_.get(), id.c_str()) != 0)
    return Error::from_errno(errno, "rename the new disk");
  (void)::unlinkat(store_.get(), making.c_str(), AT_REMOVEDIR);
  return {};
}

Result<void> Disks::remove_half_made(const std::string& name) const {
  auto place = os::open_dir(store_.get(), name);
  if (!place && place.error().os_errno == ENOENT) return {};
  if (!place) return std::move(place).error();
  struct stat info{};
  if (::fstat(place->get(), &info) != 0) return Error::from_errno(errno, "stat " + name);
  if (info.st_ino == BTRFS_FIRST_FREE_OBJECTID)
    return os::btrfs_delete_subvolume(store_.get(), name);
  // A killed copy may end its snapshot meanwhile: then the directory is not empty at first.
  for (int tries = 0; tries < 2; ++tries) {
    CAY_CHECK(os::btrfs_delete_subvolume(place->get(), kCopy));
    if (::unlinkat(store_.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (errno != ENOTEMPTY) break;
  }
  return Error::from_errno(errno, "remove " + name);
}

Result<void> Disks::make_spare(const std::string& layer, int number) {
  return copy(spare_name(layer, number), DiskOrigin{layer, ""});
}

std::vector<int> Disks::missing_spares(const std::string& layer) const {
  std::vector<int> missing;
  for (int number = 0; number < kSparesOfLayer; ++number) {
    if (!exists(spare_name(layer, number))) missing.push_back(number);
  }
  return missing;
}

Result<bool> Disks::take_spare(const std::string& id, std::uint64_t bytes,
                               const std::string& layer) {
  for (int number = 0; number < kSparesOfLayer; ++number) {
    const std::string spare = spare_name(layer, number);
    if (::renameat(store_.get(), spare.c_str(), store_.get(), id.c_str()) == 0) {
      CAY_CHECK(limit(id, bytes + kMountRoom));
      return true;
    }
    if (errno != ENOENT) return Error::from_errno(errno, "take a spare disk");
  }
  return false;
}

Result<void> Disks::remove_spares(const std::string& layer) const {
  for (int number = 0; number < kSparesOfLayer; ++number) {
    CAY_CHECK(os::btrfs_delete_subvolume(store_.get(), spare_name(layer, number)));
  }
  return {};
}

Result<void> Disks::make(const std::string& id, std::uint64_t bytes, const DiskOrigin& origin) {
  const bool fresh = !exists(id);
  if (fresh && origin.copies()) {
    CAY_CHECK(copy(id, origin));
    return limit(id, bytes + kMountRoom);
  }
  if (fresh && pooled_) {
    CAY_CHECK(os::btrfs_create_subvolume(store_.get(), id));
  } else if (fresh && ::mkdirat(store_.get(), id.c_str(), 0755) != 0) {
    return Error::from_errno(errno, "make the disk's directory");
  }
  CAY_CHECK(limit(id, bytes + kMountRoom));
  if (!fresh) return {};
  CAY_TRY(const UniqueFd disk, os::open_dir(store_.get(), id));
  // 0755 whatever our umask is: `upper` shows through as the sandbox's root directory.
  if (::fchmod(disk.get(), 0755) != 0) return Error::from_errno(errno, "chmod the disk");
  if (pooled_) {
    CAY_CHECK(os::btrfs_write_in_place(disk.get()));
  }
  return make_trees(disk.get());
}

Result<void> Disks::limit(const std::string& id, std::uint64_t bytes) const {
  if (!pooled_) return {};
  CAY_TRY(const UniqueFd disk, os::open_dir(store_.get(), id));
  const auto counted = os::read_file(disk.get(), kCounted, 32);
  if (counted) bytes += std::strtoull(counted->c_str(), nullptr, 10);
  return os::btrfs_limit_subvolume(disk.get(), bytes);
}

Result<UniqueFd> Disks::mount(const std::string& id) const {
  auto disk = os::clone_mount(store_.get(), id.c_str());
  if (!disk) return std::move(disk).error().while_doing("mount the disk");
  CAY_CHECK(os::set_mount_attributes(disk->get(), kNoHostRights));
  return disk;
}

Result<void> Disks::remove(const std::string& id) {
  if (!pooled_) return os::remove_tree(store_.get(), id);
  CAY_CHECK(remove_half_made(kMakingInStore + id));
  return os::btrfs_delete_subvolume(store_.get(), id);
}

Result<std::vector<std::string>> Disks::ids() const { return os::list_dir(store_.get()); }

}  // namespace cay::launcher
