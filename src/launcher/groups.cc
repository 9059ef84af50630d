#include "launcher/groups.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "launcher/clone_probe.h"
#include "os/cgroup_layout.h"
#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

constexpr std::uint64_t kPeriodUsec = 100'000;  // the kernel's default CFS period
constexpr mode_t kMode = 0755;
constexpr std::uint64_t kTcpShare =
    4;  // TCP buffers: a quarter of the memory limit, beside it (cgroup v1)

Result<UniqueFd> make_group(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), kMode) != 0 && errno != EEXIST) {
    return Error::from_errno(errno, "make cgroup " + name);
  }
  return os::open_dir(parent, name);
}

Result<void> give(int group, const char* file, uid_t uid) {
  if (::fchownat(group, file, uid, static_cast<gid_t>(-1),
                 *file == '\0' ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW) != 0) {
    return Error::from_errno(errno, std::string("delegate cgroup ") + file);
  }
  return {};
}

// Removes a group and its children, two levels deep. False: busy.
Result<bool> remove_group(int parent, const std::string& name, int depth = 0) {
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  if (errno != EBUSY && errno != ENOTEMPTY)
    return Error::from_errno(errno, "remove cgroup " + name);
  auto group = os::open_dir(parent, name);
  if (!group) return group.error().os_errno == ENOENT;
  if (depth < 3) {
    DIR* raw = ::fdopendir(::fcntl(group->get(), F_DUPFD_CLOEXEC, 0));
    if (raw == nullptr) return Error::from_errno(errno, "list cgroup " + name);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(raw, ::closedir);
    std::vector<std::string> children;
    while (const dirent* entry = ::readdir(stream.get())) {
      if (entry->d_type == DT_DIR && entry->d_name[0] != '.') children.emplace_back(entry->d_name);
    }
    for (const std::string& child : children) {
      CAY_TRY(const bool gone, remove_group(group->get(), child, depth + 1));
      if (!gone) return false;
    }
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  if (errno == EBUSY || errno == ENOTEMPTY) return false;
  return Error::from_errno(errno, "remove cgroup " + name);
}

// Removes the slots of commands by their names (keeper/slots.cc), without a look at what is there.
// remove_group() finds the others.
void remove_slots(int top, const std::string& group, int first) {
  const std::string slot = group + "/s";
  for (int number = first;; ++number) {
    if (::unlinkat(top, (slot + std::to_string(number)).c_str(), AT_REMOVEDIR) != 0) return;
  }
}

std::string cpu_quota(std::uint32_t millicores) {
  return std::to_string(
      std::max<std::uint64_t>(1000, std::uint64_t{millicores} * kPeriodUsec / 1000));
}

}  // namespace

std::string cpu_max_of(std::uint32_t millicores) {
  return cpu_quota(millicores) + " " + std::to_string(kPeriodUsec);
}

Result<void> Groups::open_v1(Tree& tree, const std::string& mount) {
  // A service manager delegates v1 hierarchies only where it uses them.
  auto delegated =
      parent_.empty() ? Result<UniqueFd>(UniqueFd()) : os::open_dir(AT_FDCWD, mount + parent_);
  if (delegated && *delegated) {
    tree.root = std::move(*delegated);
    open_earlier(mount);
  } else {
    CAY_TRY(tree.root, os::open_dir(AT_FDCWD, mount));
  }
  CAY_TRY(tree.top, make_group(tree.root.get(), name_));
  tree.mount = mount;
  return {};
}

Result<void> Groups::open_v2(const std::string& mount) {
  if (mount.empty()) {
    // A host that uses v1 alone: the tree exists all the same, mounted for us only.
    CAY_TRY(v2_.root,
            os::new_mount("cgroup2", {}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  } else {
    auto root = os::open_dir(AT_FDCWD, mount + parent_);
    if (!root && !parent_.empty() && root.error().os_errno == ENOENT) {
      return Error{Code::kUnavailable, "no_cgroup_parent",
                   "the cgroup " + mount + parent_ +
                       " is not there: start the unit that holds sandboxes (systemctl start " +
                       parent_.substr(parent_.rfind('/') + 1) + "), or leave --cgroup-parent out",
                   0};
    }
    if (!root) return std::move(root).error();
    v2_.root = std::move(*root);
    if (!parent_.empty()) open_earlier(mount);
  }
  v2_.mount = mount.empty() ? "(private)" : mount;
  CAY_TRY(v2_.top, make_group(v2_.root.get(), name_));
  return {};
}

void Groups::open_earlier(const std::string& mount) {
  auto root = os::open_dir(AT_FDCWD, mount);
  if (!root) return;
  auto top = os::open_dir(root->get(), name_);
  if (top) earlier_.push_back({mount, std::move(*root), std::move(*top)});
}

// Enabled above for our top group, and there for each sandbox.
Result<void> Groups::enable_on_v2(const std::string& controller) {
  for (const UniqueFd* group : {&v2_.root, &v2_.top}) {
    CAY_CHECK(os::write_file(group->get(), "cgroup.subtree_control", "+" + controller));
  }
  return {};
}

Result<Groups> Groups::open(const std::string& instance, const std::string& parent) {
  CAY_TRY(const std::string mountinfo, os::read_file(AT_FDCWD, "/proc/self/mountinfo", 4 << 20));
  const os::CgroupLayout layout = os::cgroup_layout_of(mountinfo);
  Groups groups;
  groups.name_ = "cay-" + instance;
  groups.parent_ = parent;
  CAY_CHECK(groups.open_v2(layout.v2));
  CAY_TRY(const std::string available, os::read_file(groups.v2_.root.get(), "cgroup.controllers"));
  const std::vector<std::string> on_v2 = os::words_of(available);
  const auto place = [&](const char* controller, const std::string& v1_mount,
                         Tree& tree) -> Result<void> {
    if (std::find(on_v2.begin(), on_v2.end(), controller) != on_v2.end())
      return groups.enable_on_v2(controller);
    if (!v1_mount.empty()) return groups.open_v1(tree, v1_mount);
    return Error{Code::kUnsupported, "no_cgroup_controller",
                 std::string("this host has no cgroup controller '") + controller +
                     "': boot the kernel with it enabled (cgroup_enable=" + controller + ")",
                 0};
  };
  CAY_CHECK(place("memory", layout.memory, groups.memory_));
  CAY_CHECK(place("pids", layout.pids, groups.pids_));
  CAY_CHECK(place("cpu", layout.cpu, groups.cpu_));
  // Earlier launchers made groups there, too. CPU time is counted in v2.
  if (!layout.cpuacct.empty() && layout.cpuacct != layout.cpu) {
    groups.open_earlier(layout.cpuacct);
    if (!parent.empty()) groups.open_earlier(layout.cpuacct + parent);
  }
  groups.clones_into_ = clones_into_groups(groups.v2_.top.get());
  return groups;
}

std::vector<const Groups::Tree*> Groups::trees() const {
  std::vector<const Tree*> all;
  for (const Tree* tree : {&v2_, &memory_, &pids_, &cpu_}) {
    if (!tree->mount.empty()) all.push_back(tree);
  }
  for (const Tree& tree : earlier_) all.push_back(&tree);
  return all;
}

Result<SandboxGroups> Groups::make_keepers(const std::string& id) {
  SandboxGroups made;
  CAY_TRY(made.whole, make_group(v2_.top.get(), id));
  // Before a process is in there: the kernel would move it, and wait for a grace period.
  std::string enabled;
  if (memory_.mount.empty()) enabled += "+memory ";
  if (pids_.mount.empty()) enabled += "+pids ";
  if (cpu_.mount.empty()) enabled += "+cpu";
  if (!enabled.empty()) {
    CAY_CHECK(os::write_file(made.whole.get(), "cgroup.subtree_control", enabled));
  }
  CAY_TRY(made.keeper, make_group(made.whole.get(), "keeper"));
  return made;
}

Result<void> Groups::make_commands(const std::string& id, const GroupLimits& limits,
                                   uid_t keeper_uid, SandboxGroups& made) {
  const bool memory_on_v2 = memory_.mount.empty();
  const bool pids_on_v2 = pids_.mount.empty();
  const bool cpu_on_v2 = cpu_.mount.empty();
  CAY_TRY(made.cmds, make_group(made.whole.get(), "cmds"));
  const int cmds = made.cmds.get();
  if (memory_on_v2) {
    CAY_CHECK(os::write_file(cmds, "memory.max", std::to_string(limits.memory_bytes)));
    // Absent where the kernel has no swap accounting: then there is nothing to forbid.
    auto swap = os::write_file(cmds, "memory.swap.max", "0");
    if (!swap && swap.error().os_errno != ENOENT) return std::move(swap).error();
  }
  if (pids_on_v2) {
    CAY_CHECK(os::write_file(cmds, "pids.max", std::to_string(limits.pids)));
  }
  if (cpu_on_v2) {
    CAY_CHECK(os::write_file(cmds, "cpu.max", cpu_max_of(limits.cpu_millicores)));
  }
  // Slots count memory and OOM kills of their own; after this, commands can only be in slots.
  if (memory_on_v2) {
    CAY_CHECK(os::write_file(cmds, "cgroup.subtree_control", "+memory"));
  }
  // The kernel asks for cgroup.procs of the common ancestor of where a process is and where it
  // goes.
  CAY_CHECK(give(made.whole.get(), "cgroup.procs", keeper_uid));
  for (const char* file :
       {"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "cgroup.kill"}) {
    CAY_CHECK(give(cmds, file, keeper_uid));
  }
  const auto make_v1 = [&](const Tree& tree, UniqueFd& group) -> Result<void> {
    if (tree.mount.empty()) return {};
    CAY_TRY(group, make_group(tree.top.get(), id));
    for (const char* file : {"", "cgroup.procs", "tasks"}) {
      CAY_CHECK(give(group.get(), file, keeper_uid));
    }
    return {};
  };
  CAY_CHECK(make_v1(memory_, made.memory));
  CAY_CHECK(make_v1(pids_, made.pids));
  CAY_CHECK(make_v1(cpu_, made.cpu));
  if (made.memory) {
    const std::string bytes = std::to_string(limits.memory_bytes);
    CAY_CHECK(os::write_file(made.memory.get(), "memory.limit_in_bytes", bytes));
    auto swap = os::write_file(made.memory.get(), "memory.memsw.limit_in_bytes", bytes);
    if (!swap && swap.error().os_errno != ENOENT) return std::move(swap).error();
    // v1 counts TCP's buffers apart, and only where it has a limit
    // (Documentation/admin-guide/cgroup-v1/memory.rst, 2.7).
    auto tcp = os::write_file(made.memory.get(), "memory.kmem.tcp.limit_in_bytes",
                              std::to_string(limits.memory_bytes / kTcpShare));
    if (!tcp && tcp.error().os_errno != ENOENT) return std::move(tcp).error();
  }
  if (made.pids) {
    CAY_CHECK(os::write_file(made.pids.get(), "pids.max", std::to_string(limits.pids)));
  }
  if (made.cpu) {
    CAY_CHECK(os::write_file(made.cpu.get(), "cpu.cfs_quota_us", cpu_quota(limits.cpu_millicores)));
  }
  return {};
}

void Groups::kill(const std::string& id) {
  const std::string file = id + "/cgroup.kill";
  (void)os::write_file(v2_.top.get(), file, "1");
  // v1 groups have no such file, and a group of an earlier launcher may be of either kind.
  for (const Tree& tree : earlier_) (void)os::write_file(tree.top.get(), file, "1");
}

std::vector<pid_t> Groups::pids_beside(const std::string& id, pid_t keeper) const {
  std::vector<pid_t> pids;
  const auto text = os::read_file(v2_.top.get(), id + "/keeper/cgroup.procs");
  if (!text) return pids;
  for (const std::string& word : os::words_of(*text)) {
    const auto pid = static_cast<pid_t>(std::strtol(word.c_str(), nullptr, 10));
    if (pid > 0 && pid != keeper) pids.push_back(pid);
  }
  return pids;
}

Result<bool> Groups::remove(const std::string& id) {
  remove_slots(v2_.top.get(), id + "/cmds", 0);
  for (const char* below : {"/cmds", "/keeper"})
    (void)::unlinkat(v2_.top.get(), (id + below).c_str(), AT_REMOVEDIR);
  if (!memory_.mount.empty()) remove_slots(memory_.top.get(), id, 1);  // the first slot has none
  bool all_gone = true;
  for (const Tree* tree : trees()) {
    CAY_TRY(const bool gone, remove_group(tree->top.get(), id));
    all_gone = all_gone && gone;
  }
  return all_gone;
}

Result<std::vector<std::string>> Groups::ids() const {
  std::vector<std::string> found;
  for (const Tree* tree : trees()) {
    CAY_TRY(const auto names, os::list_dir(tree->top.get()));
    for (const std::string& name : names) {
      struct stat info{};
      const bool is_dir =
          ::fstatat(tree->top.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISDIR(info.st_mode);
      if (is_dir && std::find(found.begin(), found.end(), name) == found.end())
        found.push_back(name);
    }
  }
  return found;
}

Result<void> Groups::join_tops() const {
  for (const Tree* tree : trees()) {
    if (tree == &v2_) continue;
    CAY_CHECK(os::write_file(tree->top.get(), "cgroup.procs", "0"));
  }
  return {};
}

void Groups::remove_tops() {
  for (const Tree* tree : trees()) ::unlinkat(tree->root.get(), name_.c_str(), AT_REMOVEDIR);
}

std::uint64_t Groups::keeper_group(const std::string& id) const {
  struct stat info{};
  return ::fstatat(v2_.top.get(), (id + "/keeper").c_str(), &info, 0) == 0 ? info.st_ino : 0;
}

bool Groups::can_kill() const { return ::faccessat(v2_.top.get(), "cgroup.kill", F_OK, 0) == 0; }

bool Groups::limits_swap() const {
  if (memory_.mount.empty()) return ::faccessat(v2_.top.get(), "memory.swap.max", F_OK, 0) == 0;
  return ::faccessat(memory_.top.get(), "memory.memsw.limit_in_bytes", F_OK, 0) == 0;
}

std::string Groups::description() const {
  const auto where = [](const Tree& tree) {
    return tree.mount.empty() ? std::string("v2") : std::string("v1");
  };
  return std::string(pure_v2() ? "pure v2" : "hybrid") + ": memory " + where(memory_) + ", pids " +
         where(pids_) + ", cpu " + where(cpu_) + ", kill v2" +
         (parent_.empty() ? "" : ", below " + parent_);
}

}  // namespace cay::launcher
