#include "launcher/groundwork_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "launcher/namespaces.h"
#include "launcher/sandbox_process.h"
#include "os/file.h"
#include "os/unix_socket.h"
#include "wire/tlv.h"

namespace cay::launcher {
namespace {

struct Made {
  Namespaces namespaces;
  GuestTrees trees;
  std::vector<UniqueFd> lent;
  std::string no_network;
};

// Returns the sockets that the gate answers on. There are none if `network` is null, or if the host
// cannot give them: `missing` gets the reason then.
Result<std::vector<UniqueFd>> lay_network(const GuestNetwork* network, std::string& missing) {
  CAY_CHECK(set_up_loopback());
  if (network == nullptr) return std::vector<UniqueFd>();
  auto lent = set_up_guest_network(*network);
  if (lent) return lent;
  missing = lent.error().message;
  return std::vector<UniqueFd>();
}

// The kernel forgets it at each change of the user ids.
Result<void> end_with(pid_t worker) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return Error::from_errno(errno, "end with the launcher");
  if (::getppid() != worker)
    return Error{Code::kUnavailable, "launcher_gone", "the launcher ended meanwhile", 0};
  return {};
}

Result<Made> make_ground(const Host& host, const GroundworkPlan& plan) {
  reset_process(host, "cay-ground", {plan.slot_fd, plan.control_fd});
  CAY_CHECK(be_an_ordinary_victim());
  CAY_CHECK(become_keeper(plan.uid));
  if (::unshare(static_cast<int>(Namespaces::kinds())) != 0)
    return Error::from_errno(errno, "make the namespaces");
  CAY_CHECK(end_with(plan.worker));
  CAY_CHECK(os::send_message(plan.control_fd, kGroundBegun));
  Made made;
  // Meanwhile the launcher makes the id maps and the devices.
  auto lent = lay_network(plan.network, made.no_network);
  CAY_TRY(os::Message maps, os::receive_message(plan.control_fd));
  if (maps.fds.empty())
    return Error{Code::kUnavailable, "launcher_gone", "the launcher ended meanwhile", 0};
  if (!lent) return std::move(lent).error();
  made.lent = std::move(*lent);
  // Files are made as guest root; the other ids stay the keeper's.
  ::setfsgid(0);
  ::setfsuid(0);
  CAY_CHECK(end_with(plan.worker));
  ::umask(0);
  CAY_CHECK(made.trees.make(plan.trees, std::move(maps.fds.front())));
  CAY_TRY(const UniqueFd self, os::open_dir(AT_FDCWD, "/proc/" + std::to_string(::getpid())));
  CAY_TRY(made.namespaces, Namespaces::open(self.get()));
  return made;
}

}  // namespace

void run_groundwork(const Host& host, const GroundworkPlan& plan) {
  auto made = make_ground(host, plan);
  if (!made) ::_exit(kGroundFailed);
  std::vector<int> fds = made->namespaces.descriptors();
  const std::vector<int> trees = made->trees.descriptors();
  fds.insert(fds.end(), trees.begin(), trees.end());
  for (const UniqueFd& socket : made->lent) fds.push_back(socket.get());
  const GroundReport report{static_cast<std::uint32_t>(trees.size()), made->no_network};
  if (!os::send_message(plan.control_fd, wire::encode(report), fds)) ::_exit(kGroundFailed);
  ::_exit(made->no_network.empty() ? kGroundMade : kGroundWithoutWayOut);
}

}  // namespace cay::launcher
