// GuestGroups: shows a sandbox its limits at /sys/fs/cgroup, read-only, where runtimes look for
// them.
//
// On pure cgroup v2 that is the kernel's directory of the commands' group. On a hybrid host the
// limits lie in several v1 hierarchies. There, files of Cay's show them by their v2 and their v1
// names.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

struct SandboxGroups;

struct GuestGroups {
  bool unified = false;  // pure v2
  std::uint64_t memory_bytes = 0;
  std::uint32_t cpu_millicores = 0;

  GuestGroups() = default;
  GuestGroups(bool unified, std::uint64_t memory_bytes, std::uint32_t cpu_millicores)
      : unified(unified), memory_bytes(memory_bytes), cpu_millicores(cpu_millicores) {}
};

// A detached, read-only mount of the commands' v2 group. For the launcher, which has the host's
// mounts.
Result<UniqueFd> mount_of_groups(const SandboxGroups& groups);

// For init: makes Cay's files in a new directory `name` of `dir`. Returns memory.current, empty and
// open for writing.
Result<UniqueFd> make_group_files(const GuestGroups& groups, int dir, const std::string& name);

// The text of /proc/cgroups beside such files: a JDK takes them for v2 by it.
extern const char* const kControllers;

}  // namespace cay::launcher
