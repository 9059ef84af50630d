// GuestRoot: the file system that a sandbox sees, made by its init from inside its own user, mount,
// pid and network namespaces. Every object used is one we opened; nothing is resolved through what
// the guest may have left on its disk.
#pragma once
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/guest_trees.h"
#include "wire/messages.h"

namespace cay::launcher {

struct InitPlan;

// Detached mounts that the launcher made.
struct LentMounts {
  std::vector<UniqueFd> layers;  // top first
  UniqueFd disk;
  std::vector<UniqueFd> stored;  // of InitPlan::mounts, in its order
  UniqueFd groups;  // guest_groups.h; none where the v2 tree is mounted for the launcher alone
};

class GuestRoot {
 public:
  // `trees` are made, and outlive this.
  GuestRoot(const InitPlan& plan, GuestTrees& trees)
      : plan_(plan), trees_(trees), covers_(trees.covers()) {}

  // Mounts /proc in the staging area, with its covers. The host's must be visible. First of all.
  Result<void> mount_proc();
  // On success the caller's root and working directory are the new root. The old one lies over it.
  Result<void> build(LentMounts lent);
  // Then: on success no mount of the host is left in the namespace. It may wait for a grace period
  // of the kernel.
  Result<void> leave_host();

  // After build(): /proc/sys/user, as it is before /proc/sys is made read-only.
  int user_settings() const { return user_settings_.get(); }
  int network_settings() const { return network_settings_.get(); }  // /proc/sys/net
  // The files over /proc/meminfo and /proc/stat, empty and open for writing. Inside they are
  // read-only.
  int meminfo() const { return covers_.meminfo(); }
  int stat() const { return covers_.stat(); }
  // The root file system as it lies on the layers and the disk, opened with O_PATH. It is a mount
  // of its own that no path leads to, with nothing mounted in it.
  int bare() const { return bare_.get(); }
  // /sys/fs/cgroup/memory.current, likewise; -1: it is the kernel's.
  int memory_current() const { return covers_.memory_current(); }

 private:
  Result<void> mount_overlay(std::vector<UniqueFd> layers, UniqueFd disk);
  Result<void> make_proc();
  Result<void> show_own_groups();
  Result<void> place_trees();
  Result<void> show_kernel_a_whole_proc();
  Result<void> mount_tmp();
  Result<void> mount_wanted();
  Result<void> name_fork();
  Result<void> pivot();

  // Opens directory `name` of the new root, making it, or replacing what is not a directory. A
  // sandbox that builds a layer gets an error instead of a change.
  Result<UniqueFd> mount_point(const char* name);

  const InitPlan& plan_;
  GuestTrees& trees_;
  GuestCovers& covers_;
  std::vector<UniqueFd> stored_;
  UniqueFd root_, bare_, user_settings_, network_settings_, groups_;
};

}  // namespace cay::launcher
