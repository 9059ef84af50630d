// GuestCovers mounts over parts of the kernel's file systems in a sandbox. Masks hide a path, files
// of the sandbox's own replace the host's, and some paths become read-only. Masks and files are
// mounts of objects in a directory of the staging tmpfs, which is read-only once they are made.
#pragma once
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

struct TreePlan;

// The directory of the staging tmpfs that has the mount of make_devices() (devices.h).
inline constexpr const char* kDeviceNodes = "devices";

class GuestCovers {
 public:
  // Makes the objects in `staging`, which is open and outlives this.
  Result<void> make(int staging, const TreePlan& plan);
  // The descriptors that another process needs to use them, and that process's part.
  std::vector<int> descriptors() const;
  void adopt(int staging, std::vector<UniqueFd> descriptors);

  Result<void> mask(int tree, const char* path);  // an empty, read-only file or directory over it
  Result<void> make_read_only(int tree, const char* path);
  // Hides what `point` is, opened with O_PATH: a directory is empty then and takes nothing, and
  // nobody inside may open anything else. Needs the devices in their place.
  Result<void> hide(int point);
  // Puts Cay's file of that name over the one in `tree`.
  Result<void> show_file(int tree, const char* name);
  Result<void> cover_boot_id(int proc);
  // Puts Cay's directory of control groups over `path` of `tree`, if plan.groups is not unified.
  Result<void> show_groups(int tree, const char* path);

  // The files over /proc/meminfo, /proc/stat and memory.current, empty and open for writing.
  int meminfo() const { return meminfo_.get(); }
  int stat() const { return stat_.get(); }
  int memory_current() const { return memory_current_.get(); }  // -1: it is the kernel's

 private:
  Result<void> make_machine_files(int dir, const TreePlan& plan);

  int staging_ = -1;
  UniqueFd covers_;
  UniqueFd meminfo_, stat_, memory_current_;
};

}  // namespace cay::launcher
