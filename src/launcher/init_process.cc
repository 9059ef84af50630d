#include "launcher/init_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "launcher/groundwork.h"
#include "launcher/guest_network.h"
#include "launcher/guest_root.h"
#include "launcher/init_filter.h"
#include "launcher/namespace_limits.h"
#include "launcher/tracking_limits.h"
#include "os/caps.h"
#include "os/own_memory.h"
#include "os/process.h"
#include "os/unix_socket.h"

namespace cay::launcher {
namespace {

Result<void> set_names(const InitPlan& plan) {
  if (::sethostname(plan.hostname.data(), plan.hostname.size()) != 0)
    return Error::from_errno(errno, "sethostname");
  if (::setdomainname("", 0) != 0) return Error::from_errno(errno, "setdomainname");
  return {};
}

Result<void> drop_everything() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Error::from_errno(errno, "set no_new_privs");
  if (!os::drop_bounding_set()) return Error::from_errno(errno, "empty the bounding set");
  if (!os::set_capabilities(0)) return Error::from_errno(errno, "drop capabilities");
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return Error::from_errno(errno, "set dumpable");
  return {};
}

// While our ids are the keeper's still: what is written for it in /proc is that user's.
Result<void> make_clocks(const InitPlan& plan) {
  if (!plan.own_clocks) return {};
  if (plan.fail_step == "make the time namespace")
    return Error::from_errno(EIO, "make the time namespace");
  return enter_own_clocks(plan.clocks_from);
}

// Returns the sockets that the gate answers on. It returns none, with the reason in `missing`, if
// the host cannot give them and the sandbox may do without.
Result<std::vector<UniqueFd>> network_of(const InitPlan& plan, std::string& missing) {
  if (plan.ground != nullptr) {
    missing = plan.ground->no_network;
    return std::move(plan.ground->lent);
  }
  CAY_CHECK(set_up_loopback());
  if (plan.network == nullptr) return std::vector<UniqueFd>();
  const bool injected = plan.fail_step == "make the way out";
  auto lent = injected ? Error{Code::kUnsupported, "network_unsupported",
                               std::string(kNoNetwork) + " (a test)", EIO}
                       : set_up_guest_network(*plan.network);
  if (lent || plan.network_required) return lent;
  missing = lent.error().message;
  return std::vector<UniqueFd>();
}

// A counter at its most, which becomes writable once it was read. Init reads it when its filter
// holds it: the filter leaves it no other call to report that.
Result<UniqueFd> full_counter() {
  UniqueFd counter(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::uint64_t most = ~std::uint64_t{0} - 1;
  if (!counter || ::write(counter.get(), &most, sizeof most) != sizeof most)
    return Error::from_errno(errno, "make a counter");
  return counter;
}

// Makes or adopts the trees, and mounts /proc beside them. The id maps are written.
Result<void> begin_root(const InitPlan& plan, UniqueFd devices, GuestTrees& trees,
                        GuestRoot& root) {
  // Files are made as guest root; the other ids stay the keeper's.
  ::setfsgid(0);
  ::setfsuid(0);
  if (plan.ground != nullptr) {
    trees.adopt(std::move(plan.ground->trees));
  } else {
    CAY_CHECK(trees.make(plan, std::move(devices)));
  }
  return root.mount_proc();
}

// Returns the counter that init reads once its filter holds it.
Result<UniqueFd> become_init(const InitPlan& plan) {
  // First: the launcher prepares the mounts meanwhile. A failure is reported once they have come,
  // or it would be lost in their sending.
  auto clocks = make_clocks(plan);
  std::string missing;
  auto network = network_of(plan, missing);
  GuestTrees trees;
  GuestRoot root(plan, trees);
  Result<void> begun;
  if (plan.ground != nullptr) begun = begin_root(plan, UniqueFd(), trees, root);
  CAY_TRY(os::Message mounts, os::receive_message(plan.launcher_fd));
  const bool has_groups = mounts.bytes == kMountsAndGroups;
  const std::size_t others = (has_groups ? 1 : 0) + (plan.ground == nullptr ? 1 : 0);
  if (mounts.bytes.empty() || mounts.fds.size() < plan.mounts.size() + others + 1) {
    return Error{Code::kUnavailable, "launcher_gone", "the launcher ended meanwhile", 0};
  }
  CAY_CHECK(clocks);
  CAY_TRY(const std::vector<UniqueFd> lent, std::move(network));
  const auto take_last = [&mounts] {
    UniqueFd last = std::move(mounts.fds.back());
    mounts.fds.pop_back();
    return last;
  };
  if (plan.ground == nullptr) begun = begin_root(plan, take_last(), trees, root);
  CAY_CHECK(begun);
  LentMounts given;
  if (has_groups) given.groups = take_last();
  for (std::size_t i = 0; i < plan.mounts.size(); ++i) given.stored.push_back(take_last());
  std::reverse(given.stored.begin(), given.stored.end());
  given.disk = take_last();
  given.layers = std::move(mounts.fds);
  CAY_CHECK(root.build(std::move(given)));
  CAY_CHECK(set_names(plan));
  CAY_CHECK(limit_namespaces(root.user_settings(), {plan.profile, plan.nested_networks}));
  if (!lent.empty()) {
    CAY_CHECK(limit_tracking(root.network_settings()));
  }
  const UniqueFd top(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd devpts(::open("/dev/pts", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!top || !devpts) return Error::from_errno(errno, "open the new root");
  CAY_TRY(UniqueFd held, full_counter());
  std::vector<int> handed{top.get(),      devpts.get(), held.get(),
                          root.meminfo(), root.stat(),  root.bare()};  // as ToKeeper
  if (root.memory_current() >= 0) handed.push_back(root.memory_current());
  for (const UniqueFd& socket : lent) handed.push_back(socket.get());
  CAY_CHECK(os::send_message(plan.keeper_fd, missing.empty() ? "up" : "up " + missing, handed));
  // The keeper goes on meanwhile, and reports the sandbox once init is held.
  CAY_CHECK(root.leave_host());
  CAY_CHECK(drop_everything());
  return held;
}

// Reaps until the lifeline closes. SIGCHLD comes by descriptor: no handler, so the kernel goes on
// ignoring every signal sent from inside.
[[noreturn]] void reap(const InitPlan& plan, int held_fd) {
  const int lifeline_fd = plan.lifeline_fd;
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const int signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) ::_exit(1);
  if (plan.fail_step == "load the filter of init") ::_exit(kNoFilter);
  os::give_back_heap();  // nothing below allocates, or reads the plan
  if (!load_init_filter()) ::_exit(kNoFilter);
  std::uint64_t count = 0;
  (void)!::read(held_fd, &count, sizeof count);
  for (;;) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    pollfd items[2] = {{lifeline_fd, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(items, 2, -1) < 0 && errno != EINTR) ::_exit(1);
    if (items[0].revents != 0) ::_exit(0);  // nothing is ever written to it: this is its end
    signalfd_siginfo info;
    while (::read(signals, &info, sizeof info) > 0) {
    }
  }
}

}  // namespace

void scrub_arguments(char* arguments, std::size_t size, const char* name) {
  if (arguments == nullptr || size == 0) return;
  std::memset(arguments, 0, size);
  std::memcpy(arguments, name, std::min(size - 1, std::strlen(name)));
}

void run_init(const InitPlan& plan) {
  std::vector<int> kept{plan.launcher_fd, plan.keeper_fd, plan.lifeline_fd};
  if (plan.ground != nullptr) {
    plan.ground->namespaces = Namespaces();  // it is in them
    const std::vector<int> ground = plan.ground->descriptors();
    kept.insert(kept.end(), ground.begin(), ground.end());
  }
  os::close_all_but(std::move(kept));
  ::prctl(PR_SET_NAME, "cay-init", 0, 0, 0);
  scrub_arguments(plan.arguments, plan.arguments_size, "cay-init");
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::umask(0);
  auto up = become_init(plan);
  if (!up) {
    (void)os::send_message(plan.launcher_fd,
                           std::to_string(up.error().os_errno) + " " + up.error().message);
    ::_exit(1);
  }
  os::close_all_but({plan.lifeline_fd, up->get()});
  reap(plan, up->get());
}

}  // namespace cay::launcher
