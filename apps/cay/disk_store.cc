#include "disk_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "launcher_process.h"
#include "os/btrfs.h"
#include "os/file.h"

namespace cay::app {
namespace {

constexpr const char* kPrefix = ".backup-";  // never a sandbox's id: the launcher leaves it alone

}  // namespace

Result<DiskStore> DiskStore::open(const std::string& data) {
  DiskStore store;
  if (const auto pid = launcher_pid(data)) {
    CAY_TRY(store.dir,
            os::open_dir(AT_FDCWD, "/proc/" + std::to_string(*pid) + "/root" + data + "/store"));
  } else if (::access((data + "/pool.img").c_str(), F_OK) == 0) {
    // The launcher serves the daemon's user, whoever starts it.
    struct stat owner{};
    if (::stat(data.c_str(), &owner) != 0) return Error::from_errno(errno, "look at " + data);
    return Error{Code::kUnavailable, "launcher_not_running",
                 "the disks of " + data +
                     " are in a pool that its launcher mounts: start it first (systemctl start "
                     "cay-launcher, or "
                     "cay launcher --data " +
                     data + " --daemon-uid " + std::to_string(owner.st_uid) + " --daemon-gid " +
                     std::to_string(owner.st_gid) + " --detach)",
                 0};
  } else {
    CAY_TRY(store.dir, os::open_dir(AT_FDCWD, data + "/store"));
  }
  store.pooled = os::is_btrfs(store.dir.get()) && ::access((data + "/pool.img").c_str(), F_OK) == 0;
  return store;
}

Result<void> DiskStore::lock() const {
  if (::flock(dir.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return Error::from_errno(errno, "lock the disks");
  return Error{Code::kConflict, "backup_runs",
               "another backup of this data directory is under way: wait for its end", 0};
}

Result<void> DiskStore::remove_leftovers() const {
  CAY_TRY(const auto names, os::list_dir(dir.get()));
  for (const std::string& name : names) {
    if (name.starts_with(kPrefix)) {
      CAY_CHECK(os::btrfs_delete_subvolume(dir.get(), name));
    }
  }
  return {};
}

Result<DiskStore::Frozen> DiskStore::freeze(const std::string& name) const {
  CAY_TRY(const UniqueFd disk, os::open_dir(dir.get(), name));
  const std::string frozen = kPrefix + name;
  CAY_CHECK(os::btrfs_snapshot(disk.get(), dir.get(), frozen));
  return Frozen(dir.get(), frozen);
}

Result<UniqueFd> DiskStore::Frozen::open() const { return os::open_dir(store_, name_); }

DiskStore::Frozen::~Frozen() {
  if (name_.empty()) return;
  (void)os::btrfs_delete_subvolume(store_, name_);
}

}  // namespace cay::app
