#include "launcher/groundwork.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "launcher/devices.h"
#include "launcher/groundwork_process.h"
#include "os/file.h"
#include "os/unix_socket.h"
#include "wire/tlv.h"

namespace cay::launcher {

Result<void> Groundwork::open() {
  CAY_TRY(os::Message message, os::receive_message(sealed.get()));
  sealed.reset();
  const auto report = wire::decode<GroundReport>(message.bytes);
  const std::size_t spaces = Namespaces().descriptors().size();
  if (!report || message.fds_lost || report->trees == 0 ||
      message.fds.size() < spaces + report->trees) {
    return Error{Code::kInternal, "boot_failed", "boot: the groundwork is not whole", 0};
  }
  namespaces = Namespaces::adopt(message.fds);
  for (std::size_t i = spaces; i < message.fds.size(); ++i)
    (i < spaces + report->trees ? trees : lent).push_back(std::move(message.fds[i]));
  no_network = report->no_network;
  return {};
}

std::vector<int> Groundwork::descriptors() const {
  std::vector<int> all = namespaces.descriptors();
  for (const UniqueFd& fd : trees) all.push_back(fd.get());
  for (const UniqueFd& fd : lent) all.push_back(fd.get());
  return all;
}

Result<void> write_id_maps(int process, uid_t first_uid) {
  const std::string map =
      "0 " + std::to_string(first_uid) + " " + std::to_string(kRangeSize) + "\n";
  CAY_CHECK(os::write_file(process, "uid_map", map));
  return os::write_file(process, "gid_map", map);
}

Result<GroundworkMaker> GroundworkMaker::begin(const Host& host, const GroundKind& kind,
                                               const GuestNetwork* network, Slot slot) {
  GroundworkMaker maker;
  CAY_TRY(os::SocketPair control, os::socket_pair());
  GroundworkPlan plan;
  plan.uid = slot.keeper_uid();
  plan.slot_fd = slot.lock.get();
  plan.control_fd = control.theirs.get();
  plan.worker = ::getpid();
  plan.network = network;
  plan.trees.memory_bytes = kind.memory_bytes;
  plan.trees.cpus = guest_cpus(host.cpus, kind.cpu_millicores);
  plan.trees.groups = GuestGroups(host.groups.pure_v2(), kind.memory_bytes, kind.cpu_millicores);
  plan.trees.staging = host.empty_path;
  CAY_TRY(os::Cloned child, os::clone_process(0));
  if (child.pid == 0) run_groundwork(host, plan);  // never returns
  maker.pid_ = child.pid;
  maker.pidfd_ = std::move(child.pidfd);
  maker.ground_.sealed = std::move(control.ours);
  ::fcntl(maker.ground_.sealed.get(), F_SETFL, O_NONBLOCK);
  maker.ground_.kind = kind;
  maker.ground_.slot = std::move(slot);
  return maker;
}

GroundworkMaker::~GroundworkMaker() {
  if (!pidfd_ || pid_ == 0) return;
  os::kill_process(pidfd_.get());
  ::waitpid(pid_, nullptr, 0);
}

Result<Groundwork> GroundworkMaker::advance() {
  if (!begun_) {
    CAY_TRY(const os::Message message, os::receive_message(ground_.sealed.get()));
    if (message.bytes != kGroundBegun)
      return Error{Code::kInternal, "", "the groundwork was not begun", 0};
    CAY_CHECK(map_ids());
    begun_ = true;
  }
  if (!os::has_ended(pidfd_.get()))
    return Error{Code::kNotReady, "", "the groundwork is not made yet", 0};
  int status = 0;
  const bool known = ::waitpid(std::exchange(pid_, 0), &status, 0) > 0;
  if (!known || !WIFEXITED(status) || WEXITSTATUS(status) == kGroundFailed)
    return Error{Code::kInternal, "", "the groundwork could not be made", 0};
  ground_.lacks_way_out = WEXITSTATUS(status) == kGroundWithoutWayOut;
  return std::move(ground_);
}

Result<void> GroundworkMaker::map_ids() {
  CAY_TRY(const UniqueFd process, os::open_dir(AT_FDCWD, "/proc/" + std::to_string(pid_)));
  CAY_CHECK(write_id_maps(process.get(), ground_.slot.first_uid()));
  CAY_TRY(const UniqueFd devices, make_devices());
  return os::send_message(ground_.sealed.get(), "maps", {devices.get()});
}

}  // namespace cay::launcher
