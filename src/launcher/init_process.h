// Init: PID 1 of a sandbox. Forked by the keeper without exec. It waits for its id maps and mounts,
// makes the sandbox's root file system (guest_root.h), hands the keeper what it needs, drops
// everything, and from then on only reaps; it ends when the keeper's lifeline closes, and the
// sandbox with it.
//
// It keeps the keeper's host uid, which no id inside maps to: nothing inside can become that uid,
// so nothing inside can trace it, change its limits or read it (no process inside has
// CAP_SYS_PTRACE or CAP_SYS_RESOURCE), and signals from inside never reach a PID 1 that has no
// handlers. It is dumpable on purpose: setns(pidfd) asks for trace access, and the keeper, of the
// same uid, has no capability.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/profile.h"
#include "launcher/guest_clocks.h"
#include "launcher/guest_trees.h"
#include "wire/messages.h"

namespace cay::launcher {

struct GuestNetwork;
struct Groundwork;

struct InitPlan : TreePlan {
  std::string hostname;
  std::vector<wire::TmpfsMount> tmpfs;     // parents first
  Profile profile = Profile::kDefault;     // of commands: init itself is held the same in each
  bool nested_networks = false;            // namespace_limits.h
  bool own_clocks = false;                 // guest_clocks.h
  ClockStart clocks_from;                  // likewise
  bool fresh_disk = false;                 // the first boot
  bool forked = false;                     // the first boot of a copy of another sandbox's disk
  bool builds_layer = false;               // nothing of Cay's is put into what will be sealed
  std::vector<wire::DiskMountMsg> mounts;  // parents first
  std::vector<std::string> read_only_paths, hidden_paths;  // guest_mounts.h
  const GuestNetwork* network = nullptr;                   // null: lo alone
  bool network_required =
      false;  // else a host without it is no failure, and the keeper gets the reason
  const std::vector<std::string>* covered_proc = nullptr;  // kernel_view.h
  Groundwork* ground = nullptr;  // null: init makes its namespaces' network and trees itself
  char* arguments = nullptr;     // /proc/1/cmdline, readable inside
  std::size_t arguments_size = 0;

  int launcher_fd = -1;  // gets the mounts from the launcher, and takes the error of a failure
  // The descriptors of ToKeeper and then the gate's sockets go to the keeper here; "up", and why
  // there are no sockets.
  int keeper_fd = -1;
  int lifeline_fd = -1;  // read end
};

// The launcher's message with the mounts. The descriptors: layers, the highest first; the disk;
// InitPlan::mounts; the second kind has the mount of the groups (guest_groups.h); without a
// groundwork the devices.
inline constexpr std::string_view kMounts = "mounts";
inline constexpr std::string_view kMountsAndGroups = "mounts and groups";

// The descriptors that init hands to the keeper, in this order.
enum ToKeeper : std::size_t {
  kRoot,
  kDevpts,
  kHeld,     // readable once init is held by its filter (keeper_process.cc)
  kMeminfo,  // /proc/meminfo and /proc/stat inside, for writing
  kStat,
  kBareRoot,  // the root file system with nothing mounted in it, O_PATH
  // If GuestGroups is not unified: /sys/fs/cgroup/memory.current, for writing. Then the sockets.
  kMemoryCurrent,
};

// The code that init ends with where the kernel does not take its filter.
inline constexpr int kNoFilter = 3;

// Begins the error of a file system in memory whose path is unfit.
inline constexpr std::string_view kNoTmpfs = "no file system in memory at ";

// Begins the error of a mount whose path is unfit.
inline constexpr std::string_view kNoMount = "nothing can be mounted at ";

// Begins the error of a path that is to be read-only, and does not exist.
inline constexpr std::string_view kNoSuchPath = "there is nothing to be read-only at ";

// Begins the error of a read-only or hidden path that is unfit.
inline constexpr std::string_view kNoPathRule = "no path rule can be put on ";

// Overwrites the argv area with `name`, so that it shows nothing of the host.
void scrub_arguments(char* arguments, std::size_t size, const char* name);

[[noreturn]] void run_init(const InitPlan& plan);

}  // namespace cay::launcher
