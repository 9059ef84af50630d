#include "launcher/birth.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "keeper/filter_room.h"
#include "launcher/devices.h"
#include "launcher/guest_groups.h"
#include "launcher/keeper_process.h"
#include "launcher/layer_store.h"
#include "launcher/volumes.h"
#include "os/file.h"
#include "os/mount.h"
#include "os/unix_socket.h"

namespace cay::launcher {
namespace {

// Returns the mounts of all layers, the highest first.
Result<std::vector<UniqueFd>> open_layers(const Host& host, const std::vector<std::string>& stack) {
  std::vector<UniqueFd> layers;
  for (const std::string& id : stack) {
    CAY_TRY(UniqueFd layer, mount_layer(host, id));
    layers.push_back(std::move(layer));
  }
  return layers;
}

Result<UniqueFd> open_stored(const Host& host, const wire::DiskMountMsg& wanted) {
  CAY_CHECK(host.disks.need_pool());
  CAY_TRY(UniqueFd mount, wanted.volume_id.empty() ? mount_layer(host, wanted.layer_id)
                                                   : mount_volume(host, wanted.volume_id));
  if (wanted.read_only) {
    CAY_CHECK(os::set_mount_attributes(mount.get(), MOUNT_ATTR_RDONLY));
  }
  return mount;
}

// Gives this keeper the files of an earlier one, which had another uid: commands' directories with
// a few files each.
Result<void> take_over(int dir, const std::vector<std::string>& names, uid_t uid, int depth) {
  for (const std::string& name : names) {
    if (::fchownat(dir, name.c_str(), uid, static_cast<gid_t>(-1), AT_SYMLINK_NOFOLLOW) != 0) {
      return Error::from_errno(errno, "own the spool");
    }
    auto inner = os::open_dir(dir, name);
    if (!inner || depth == 0) continue;
    CAY_TRY(const auto below, os::list_dir(inner->get()));
    CAY_CHECK(take_over(inner->get(), below, uid, depth - 1));
  }
  return {};
}

// DATA/spool/ID: the keeper writes, the daemon's group reads. Kept over a stop, whatever the next
// uid.
Result<UniqueFd> make_spool(const Host& host, const std::string& id, uid_t keeper_uid) {
  const bool made = ::mkdirat(host.spool.get(), id.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return Error::from_errno(errno, "make the spool directory");
  CAY_TRY(UniqueFd dir, os::open_dir(host.spool.get(), id));
  struct stat info{};
  if (::fstat(dir.get(), &info) != 0) return Error::from_errno(errno, "stat the spool directory");
  if (!made && info.st_uid != keeper_uid) {
    // Nobody's until all in it is the new keeper's: who is killed halfway must not leave one that
    // looks like the former keeper's, which has its uid again at the next start and could not read
    // what is in there.
    if (::fchown(dir.get(), 0, static_cast<gid_t>(-1)) != 0)
      return Error::from_errno(errno, "own the spool directory");
    CAY_TRY(const auto names, os::list_dir(dir.get()));
    CAY_CHECK(take_over(dir.get(), names, keeper_uid, 1));
  }
  if (::fchown(dir.get(), keeper_uid, host.config.daemon_gid) != 0 ||
      ::fchmod(dir.get(), 02750) != 0) {
    return Error::from_errno(errno, "own the spool directory");
  }
  return dir;
}

// A receiver that is gone is no failure of the sending: the keeper's end brings the reason.
Result<void> sent_or_gone(Result<void> sent) {
  if (!sent && sent.error().os_errno != EPIPE && sent.error().os_errno != ECONNRESET) return sent;
  return {};
}

// A peer that ended without reading what was sent to it leaves an error before its last message.
Result<os::Message> receive_from(int socket) {
  auto message = os::receive_message(socket);
  if (!message && message.error().os_errno == ECONNRESET) message = os::receive_message(socket);
  return message;
}

}  // namespace

Result<Birth> Birth::begin(Host& host, BirthPlan& plan, const Slot& slot) {
  Birth birth;
  birth.host_ = &host;
  birth.first_uid_ = slot.first_uid();
  birth.id_ = plan.id;
  birth.disk_bytes_ = plan.disk_bytes;
  birth.ground_ = std::exchange(plan.ground, std::nullopt);
  if (birth.ground_) {
    CAY_CHECK(birth.ground_->open());
  }
  CAY_TRY(birth.groups_, host.groups.make_keepers(plan.id));
  CAY_TRY(os::SocketPair control, os::socket_pair());
  CAY_TRY(os::SocketPair init, os::socket_pair());

  KeeperPlan keeper;
  keeper.id = plan.id;
  keeper.uid = slot.keeper_uid();
  keeper.first_uid = slot.first_uid();
  keeper.slot_fd = slot.lock.get();
  keeper.policy = plan.policy;
  keeper.spool_bytes = plan.spool_bytes;
  keeper.waits_for_use = plan.waits_for_use;
  keeper.control_fd = control.theirs.get();
  keeper.init_fd = init.theirs.get();
  keeper.group_fd = birth.groups_.keeper.get();
  keeper.init.hostname = plan.hostname;
  keeper.init.profile = plan.profile;
  keeper.init.nested_networks = plan.nested_networks;
  keeper.init.memory_bytes = plan.limits.memory_bytes;
  keeper.init.tmpfs = plan.tmpfs;
  keeper.init.cpus = guest_cpus(host.cpus, plan.limits.cpu_millicores);
  keeper.init.groups =
      GuestGroups(host.groups.pure_v2(), plan.limits.memory_bytes, plan.limits.cpu_millicores);
  keeper.init.fresh_disk = plan.fresh_disk;
  keeper.init.forked = plan.forked;
  keeper.init.builds_layer = plan.builds_layer;
  keeper.init.mounts = plan.mounts;
  keeper.init.read_only_paths = plan.read_only_paths;
  keeper.init.hidden_paths = plan.hidden_paths;
  keeper.init.network = plan.network;
  keeper.init.network_required = plan.network_required;
  keeper.init.ground = birth.ground_ ? &*birth.ground_ : nullptr;
  keeper.joins_group = !host.groups.clones_into();
  CAY_TRY(os::Cloned cloned, os::clone_process(0, keeper.joins_group ? -1 : keeper.group_fd));
  if (cloned.pid == 0) run_keeper(host, std::move(keeper));  // never returns
  birth.pid_ = cloned.pid;
  birth.pidfd_ = std::move(cloned.pidfd);
  birth.control_ = std::move(control.ours);
  birth.init_ = std::move(init.ours);
  ::fcntl(birth.control_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(birth.init_.get(), F_SETFL, O_NONBLOCK);
  return birth;
}

Result<void> Birth::supply(Host& host, const BirthPlan& plan, const Slot& slot) {
  CAY_CHECK(host.groups.make_commands(plan.id, plan.limits, slot.keeper_uid(), groups_));
  CAY_CHECK(host.step("make cgroups"));
  CAY_CHECK(gather_mounts(host, plan));
  CAY_CHECK(host.step("make the disk"));
  if (ground_) {
    CAY_CHECK(give_mounts(ground_->namespaces.user.get(), -1));
    ground_.reset();
  }
  CAY_CHECK(supply_keeper(host, plan, slot));
  return {};
}

Result<void> Birth::gather_mounts(Host& host, const BirthPlan& plan) {
  CAY_TRY(mounts_, open_layers(host, plan.layers));
  CAY_CHECK(host.disks.make(plan.id, plan.disk_bytes));
  CAY_TRY(UniqueFd disk, host.disks.mount(plan.id));
  mounts_.push_back(std::move(disk));
  for (const wire::DiskMountMsg& wanted : plan.mounts) {
    CAY_TRY(UniqueFd stored, open_stored(host, wanted));
    mounts_.push_back(std::move(stored));
  }
  auto shown = mount_of_groups(groups_);
  if (!shown && host.groups.pure_v2()) return std::move(shown).error();
  if (shown) shown_groups_ = std::move(*shown);
  return {};
}

Result<void> Birth::supply_keeper(Host& host, const BirthPlan& plan, const Slot& slot) {
  CAY_TRY(const UniqueFd spool, make_spool(host, plan.id, slot.keeper_uid()));
  CAY_TRY(const UniqueFd listener, os::listen_unix(host.run.get(), plan.id + ".sock",
                                                   host.config.daemon_uid, host.config.daemon_gid));
  UniqueFd gate;
  if (plan.network != nullptr) {
    CAY_TRY(gate, os::listen_unix(host.gate.get(), plan.id + ".sock", host.config.gate_uid,
                                  host.config.gate_gid));
  }
  CAY_CHECK(host.step("make the socket"));
  std::optional<ProgramTap> tap;
  if (plan.tap) {
    CAY_TRY(tap, plan.tap(groups_.cmds.get()));
    CAY_CHECK(host.step("record programs"));
  }
  KeeperParts parts;
  parts.add(KeeperParts::kListener, listener.get());
  parts.add(KeeperParts::kSpool, spool.get());
  parts.add(KeeperParts::kGate, gate.get());
  parts.add(KeeperParts::kCommands, groups_.cmds.get());
  parts.add(KeeperParts::kMemory, groups_.memory.get());
  parts.add(KeeperParts::kPids, groups_.pids.get());
  parts.add(KeeperParts::kCpu, groups_.cpu.get());
  if (tap) {
    parts.add(KeeperParts::kRing, tap->ring.get());
    parts.add(KeeperParts::kState, tap->state.get());
    for (const int link : tap->links) parts.add(KeeperParts::kUnused, link);
  }
  CAY_CHECK(sent_or_gone(os::send_message(control_.get(), parts.kinds, parts.fds)));
  groups_ = SandboxGroups();
  return {};
}

Result<Birth::State> Birth::advance() {
  auto message = receive_from(control_.get());
  if (!message && message.error().code == Code::kNotReady) return State::kWaiting;
  if (!message || message->bytes.empty()) return failure();
  if (message->bytes == "ready" || message->bytes.starts_with("ready ")) {
    no_network_ = message->bytes.substr(std::min<std::size_t>(message->bytes.size(), 6));
    CAY_CHECK(host_->disks.limit(
        id_, disk_bytes_));  // its root is mounted, and nothing of the guest's runs yet
    CAY_CHECK(host_->step("confirm"));
    return State::kReady;
  }
  if (message->bytes.starts_with("init ")) {
    CAY_CHECK(map_init(static_cast<pid_t>(std::strtol(message->bytes.c_str() + 5, nullptr, 10))));
    return State::kWaiting;
  }
  if (Error full = keeper::no_filter_room(); message->bytes == full.message) return full;
  return Error{Code::kInternal, "boot_failed", "boot: " + message->bytes, 0};
}

// The root-only part of a birth without groundwork: id maps, and the devices.
Result<void> Birth::map_init(pid_t init) {
  CAY_TRY(const UniqueFd proc, os::open_dir(AT_FDCWD, "/proc/" + std::to_string(init)));
  CAY_CHECK(write_id_maps(proc.get(), first_uid_));
  CAY_CHECK(host_->step("write id maps"));
  const UniqueFd userns(::openat(proc.get(), "ns/user", O_RDONLY | O_CLOEXEC));
  if (!userns) return Error::from_errno(errno, "open the user namespace");
  CAY_TRY(const UniqueFd devices, make_devices());
  return give_mounts(userns.get(), devices.get());
}

// Mounts in which the disk's ids 0-65535 are the sandbox's range. `devices` -1: init has them.
Result<void> Birth::give_mounts(int userns, int devices) {
  std::vector<int> fds;
  for (const UniqueFd& mount : mounts_) {
    CAY_CHECK(os::set_mount_attributes(mount.get(), 0, userns));
    fds.push_back(mount.get());
  }
  const bool shows = static_cast<bool>(shown_groups_);
  if (shows) fds.push_back(shown_groups_.get());  // control groups have no ids to map
  if (devices >= 0) fds.push_back(devices);       // not mapped: host root's, nobody's inside
  CAY_CHECK(sent_or_gone(os::send_message(init_.get(), shows ? kMountsAndGroups : kMounts, fds)));
  shown_groups_.reset();
  mounts_.clear();
  return {};
}

// The error of a keeper that is gone: init's last message, if it sent one.
Error Birth::failure() {
  auto words = receive_from(init_.get());
  if (!words || words->bytes.empty()) {
    return Error{Code::kInternal, "boot_failed", "boot: the keeper ended before the sandbox was up",
                 0};
  }
  const int err = static_cast<int>(std::strtol(words->bytes.c_str(), nullptr, 10));
  const std::size_t blank = words->bytes.find(' ');
  if (blank != std::string::npos && words->bytes.substr(blank + 1).starts_with(kNoNetwork)) {
    return Error{Code::kUnsupported, "network_unsupported", words->bytes.substr(blank + 1), err};
  }
  constexpr std::pair<std::string_view, const char*> kUnfit[] = {{kNoTmpfs, "invalid_tmpfs"},
                                                                 {kNoMount, "invalid_mount"},
                                                                 {kNoSuchPath, "path_missing"},
                                                                 {kNoPathRule, "invalid_paths"}};
  for (const auto& [begin, reason] : kUnfit) {
    const std::size_t at = words->bytes.find(begin);  // behind the name of the step
    if (at != std::string::npos)
      return Error{Code::kInvalidArgument, reason, words->bytes.substr(at), err};
  }
  return Error{
      Code::kInternal, "boot_failed",
      "boot: " + (blank == std::string::npos ? words->bytes : words->bytes.substr(blank + 1)), err};
}

}  // namespace cay::launcher
