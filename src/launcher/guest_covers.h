// GuestCovers: what lies over parts of the kernel's file systems in a sandbox. Masks hide a path,
// files of the sandbox's own replace the host's, and some paths become read-only. All of them are
// mounts of objects in the staging tmpfs, made before the guest runs.
#pragma once
#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

struct InitPlan;

class GuestCovers {
 public:
  // Makes the objects in `staging`, which is open and outlives this.
  Result<void> make(int staging, const InitPlan& plan);

  Result<void> mask(int tree, const char* path);  // an empty, read-only file or directory over it
  Result<void> make_read_only(int tree, const char* path);
  // Puts a file of staging's, read-only, over the one of that name in `tree`.
  Result<void> show_file(int tree, const char* name);
  Result<void> cover_boot_id(int proc);

  // The files over /proc/meminfo and /proc/stat, empty and open for writing.
  int meminfo() const { return meminfo_.get(); }
  int stat() const { return stat_.get(); }

 private:
  Result<void> make_boot_id();
  Result<void> make_machine_files(const InitPlan& plan);

  int staging_ = -1;
  UniqueFd meminfo_, stat_;
};

}  // namespace cay::launcher
