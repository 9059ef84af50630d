// Groups: the cgroups of this instance's sandboxes, on hybrid (v1 controllers, v2 for kill) and
// pure v2 hosts.
//
//   v2   cay-INSTANCE/ID/keeper     keeper and init: outside the commands' limits
//
//        cay-INSTANCE/ID/cmds       delegated to the keeper's uid; its children are command slots
//
//   v1   cay-INSTANCE/ID            in memory, pids and cpu: commands only, delegated likewise
//
// They lie at the root of each hierarchy, or below a parent that a service manager delegated to Cay
// (docs/decisions/0011-cgroups-under-systemd.md).
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

struct GroupLimits {
  std::uint32_t cpu_millicores = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t pids = 0;
};

// A limit as the file cpu.max has it: microseconds of CPU time in each period, and the period.
std::string cpu_max_of(std::uint32_t millicores);

// Descriptors of one sandbox's groups; those of controllers that are on v2 stay empty.
struct SandboxGroups {
  UniqueFd whole;              // v2: the sandbox's
  UniqueFd keeper;             // v2 leaf that the keeper is cloned into, or joins
  UniqueFd cmds;               // v2
  UniqueFd memory, pids, cpu;  // v1
};

class Groups {
 public:
  // Finds the hierarchies and makes this instance's top groups below `parent` (a path in the
  // hierarchy, which exists; empty: the root). Fails with the missing controller's name, or
  // kUnavailable (no_cgroup_parent).
  static Result<Groups> open(const std::string& instance, const std::string& parent = {});

  // Makes the group that the keeper lives in. That is all that its clone takes.
  Result<SandboxGroups> make_keepers(const std::string& id);
  // Then the commands' groups, with their limits.
  Result<void> make_commands(const std::string& id, const GroupLimits& limits, uid_t keeper_uid,
                             SandboxGroups& made);

  // Kills everything in the sandbox's v2 group, at once and for all. Absent is success.
  void kill(const std::string& id);
  // The processes beside the sandbox's keeper in its group: init first, as a rule.
  std::vector<pid_t> pids_beside(const std::string& id, pid_t keeper) const;
  // True when nothing of it is left; false while the kernel says busy.
  Result<bool> remove(const std::string& id);
  // The id of the group that its keeper is in, in the unified hierarchy; 0: there is none.
  std::uint64_t keeper_group(const std::string& id) const;
  // Every id that has a group in any hierarchy.
  Result<std::vector<std::string>> ids() const;
  // Moves the calling process into the top groups of v1 hierarchies, and so all that it will fork:
  // what a guest reads of init in /proc/1/cgroup is then relative to them, and does not show the
  // host's groups.
  Result<void> join_tops() const;
  // Removes the top groups if they are empty.
  void remove_tops();

  bool can_kill() const;  // the kernel has cgroup.kill (5.14)
  bool pure_v2() const { return memory_.mount.empty(); }
  bool clones_into() const {
    return clones_into_;
  }  // a new group of ours, from where we are: clone_probe.h
  bool limits_swap() const;  // the kernel counts swap, so that a memory limit includes it
  // "pure v2: memory v2, …" or "hybrid: memory v1, …", for doctor.
  std::string description() const;

 private:
  struct Tree {
    std::string mount;  // empty: not a v1 hierarchy of ours
    UniqueFd root, top;
  };
  Result<void> open_v1(Tree& tree, const std::string& mount);
  Result<void> open_v2(const std::string& mount);
  Result<void> enable_on_v2(const std::string& controller);
  // Takes over the groups of this instance in a hierarchy that are not ours: a launcher without a
  // parent made them, or an older one. They are killed and removed like our own.
  void open_earlier(const std::string& mount);
  std::vector<const Tree*> trees() const;

  std::string name_;    // "cay-INSTANCE"
  std::string parent_;  // "/cay.slice/cay-sandboxes.service"
  Tree v2_, memory_, pids_, cpu_;
  std::vector<Tree> earlier_;
  bool clones_into_ = true;
};

}  // namespace cay::launcher
