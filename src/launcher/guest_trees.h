// GuestTrees: the parts of a sandbox's file system that depend neither on its disk nor on its
// name: covers, /sys, /dev and /run. They lie in the staging area, a tmpfs in the sandbox's mount
// namespace. GuestRoot moves them to their places.
//
// They are made from inside the sandbox's user, mount, network, UTS and IPC namespaces, with the
// host's /sys still visible there. Their maker may be another process than the one that uses them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/guest_covers.h"
#include "launcher/guest_groups.h"
#include "launcher/host_cpus.h"

namespace cay::launcher {

struct TreePlan {
  std::uint64_t memory_bytes = 0;  // tmpfs sizes follow from it
  GuestCpus cpus;
  GuestGroups groups;
  std::string staging;    // an empty directory of the host's: mounts are put together there
  std::string fail_step;  // tests
};

class GuestTrees {
 public:
  GuestTrees() = default;
  // `devices` is the mount of make_devices().
  Result<void> make(const TreePlan& plan, UniqueFd devices);
  // The descriptors that another process in the same namespaces needs to use the trees, and that
  // process's part.
  std::vector<int> descriptors() const;
  void adopt(std::vector<UniqueFd> descriptors);

  // The root of the staging area. /sys, /dev and /run are mounts at these names in it.
  int staging() const { return staging_.get(); }
  GuestCovers& covers() { return covers_; }

 private:
  Result<void> make_staging(const TreePlan& plan);
  Result<void> make_sys(const TreePlan& plan);
  Result<void> make_dev(const TreePlan& plan);
  Result<void> make_run(const TreePlan& plan);

  UniqueFd staging_;
  GuestCovers covers_;
};

}  // namespace cay::launcher
