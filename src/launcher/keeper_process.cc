#include "launcher/keeper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "keeper/filter_room.h"
#include "keeper/keeper.h"
#include "keeper/stats.h"
#include "launcher/groundwork.h"
#include "launcher/sandbox_process.h"
#include "os/caps.h"
#include "os/file.h"
#include "os/process.h"
#include "os/unix_socket.h"

namespace cay::launcher {
namespace {

constexpr std::uint64_t kNamespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                      CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP;

// How init's answer begins if it is up without the way out that was wanted. The reason follows.
constexpr std::string_view kUpWithout = "up ";

Result<void> jail(const Host& host) {
  if (::fchdir(host.empty.get()) != 0 || ::chroot(".") != 0 || ::chdir("/") != 0) {
    return Error::from_errno(errno, "chroot into the empty directory");
  }
  if (!os::set_capabilities(0)) return Error::from_errno(errno, "drop capabilities");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return Error::from_errno(errno, "set undumpable");
  return {};
}

// Waits until init is held by its filter (`held`: init_process.cc). A kernel that takes no filter
// is reported here, rather than found later as a dead sandbox.
Result<void> wait_until_held(const os::Cloned& init, int held) {
  pollfd items[2] = {{held, POLLOUT, 0}, {init.pidfd.get(), POLLIN, 0}};
  while (::poll(items, 2, -1) < 0) {
    if (errno != EINTR) return Error::from_errno(errno, "wait for init");
  }
  if (items[0].revents != 0) return {};
  int status = 0;
  if (::waitpid(init.pid, &status, 0) == init.pid && WIFEXITED(status) &&
      WEXITSTATUS(status) == kNoFilter)
    return keeper::no_filter_room();
  ::_exit(1);  // init sent the launcher the reason
}

// Tries the filter that every command needs, before there is one.
Result<void> try_filter(const KeeperPlan& plan) {
  const bool injected = plan.init.fail_step == "try a command's filter";
  CAY_TRY(const unsigned taken, keeper::try_guest_filters(plan.init.profile, injected ? 0 : 1));
  return taken > 0 ? Result<void>() : keeper::no_filter_room();
}

// The descriptors that it keeps of the launcher's.
std::vector<int> kept_of(const Host& host, const KeeperPlan& plan) {
  std::vector<int> kept{host.empty.get(), plan.slot_fd, plan.control_fd, plan.init_fd};
  if (host.oom.victims() >= 0) {
    kept.push_back(host.oom.victims());
    kept.push_back(host.oom.link());  // never used here: held, as KeeperParts::kUnused
  }
  if (plan.init.ground != nullptr) {
    const std::vector<int> ground = plan.init.ground->descriptors();
    kept.insert(kept.end(), ground.begin(), ground.end());
  }
  return kept;
}

// Clones init into the namespaces that are made, or into new ones.
Result<os::Cloned> clone_init(const KeeperPlan& plan) {
  if (plan.init.ground != nullptr) {
    return clone_inside(plan.init.ground->namespaces, kNamespaces & ~Namespaces::kinds(),
                        [&plan] { run_init(plan.init); });
  }
  auto init = os::clone_process(kNamespaces);
  if (init && init->pid == 0) run_init(plan.init);
  return init;
}

// Receives the launcher's parts, and puts them into the context. Returns the listening socket for
// the gate; -1: there is none.
Result<int> take_parts(const KeeperPlan& plan, keeper::Context& context) {
  CAY_TRY(os::Message parts, os::receive_message(plan.control_fd));
  if (parts.fds_lost || parts.bytes.empty() || parts.bytes.size() != parts.fds.size())
    return Error{Code::kUnavailable, "launcher_gone", "the launcher ended meanwhile", 0};
  const auto take = [&parts](KeeperParts::Kind kind) {
    const std::size_t at = parts.bytes.find(kind);
    return at == std::string::npos ? -1 : parts.fds[at].release();
  };
  context.listen_fd = take(KeeperParts::kListener);
  context.spool_fd = take(KeeperParts::kSpool);
  context.cgroup_fd = take(KeeperParts::kCommands);
  context.memory_fd = take(KeeperParts::kMemory);
  context.pids_fd = take(KeeperParts::kPids);
  context.cpu_fd = take(KeeperParts::kCpu);
  context.program_ring_fd = take(KeeperParts::kRing);
  context.program_state_fd = take(KeeperParts::kState);
  if (context.program_ring_fd >= 0) context.first_uid = plan.first_uid;
  const int gate = take(KeeperParts::kGate);
  for (UniqueFd& held : parts.fds) (void)held.release();
  return gate;
}

Result<keeper::Context> make_sandbox(const Host& host, KeeperPlan& plan) {
  if (plan.joins_group) {
    CAY_CHECK(os::write_file(plan.group_fd, "cgroup.procs", "0"));
  }
  // It needs no network: it uses sockets by path, and descriptors that it was given. So a keeper
  // that was taken over reaches no port of the host.
  if (::setns(host.no_network.get(), CLONE_NEWNET) != 0)
    return Error::from_errno(errno, "enter the empty network namespace");
  reset_process(host, "cay-keeper", kept_of(host, plan));
  CAY_CHECK(be_an_ordinary_victim());
  CAY_CHECK(become_keeper(plan.uid));
  CAY_TRY(os::SocketPair up, os::socket_pair());
  int lifeline[2];
  if (::pipe2(lifeline, O_CLOEXEC) != 0) return Error::from_errno(errno, "make the lifeline");
  UniqueFd lifeline_read(lifeline[0]);
  UniqueFd lifeline_write(lifeline[1]);
  plan.init.covered_proc = &host.covered_proc;
  plan.init.staging = host.empty_path;
  plan.init.arguments = host.config.arguments;
  plan.init.arguments_size = host.config.arguments_size;
  plan.init.fail_step = host.config.fail_step;
  plan.init.own_clocks = host.own_clocks;
  plan.init.clocks_from = ClockStart::now();
  plan.init.launcher_fd = plan.init_fd;
  plan.init.keeper_fd = up.theirs.get();
  plan.init.lifeline_fd = lifeline_read.get();
  auto init = clone_init(plan);
  if (!init) return std::move(init).error().while_doing("make the namespaces");
  if (!os::set_capabilities(os::cap_bit(CAP_SYS_CHROOT)))
    return Error::from_errno(errno, "reduce capabilities");
  up.theirs.reset();
  lifeline_read.reset();
  ::close(plan.init_fd);
  if (plan.init.ground == nullptr) {
    CAY_CHECK(os::send_message(plan.control_fd, "init " + std::to_string(init->pid)));
  } else {
    *plan.init.ground = Groundwork();  // init has it
  }
  CAY_CHECK(try_filter(plan));  // meanwhile: init and the launcher have something to do
  CAY_TRY(os::Message message, os::receive_message(up.ours.get()));
  // Empty: init ended, and sent the launcher the reason.
  const std::size_t first_socket = kMemoryCurrent + (plan.init.groups.unified ? 0 : 1);
  if (message.fds.size() < first_socket) ::_exit(1);
  keeper::Context context;
  std::vector<std::string> in_memory;
  for (const wire::TmpfsMount& mount : plan.init.tmpfs) in_memory.push_back(mount.path);
  context.tmpfs_fds = keeper::open_tmpfs(message.fds[kRoot].get(), in_memory);
  CAY_TRY(const int gate, take_parts(plan, context));
  CAY_CHECK(jail(host));
  ::close(host.empty.get());
  context.sandbox_id = plan.id;
  context.instance = host.config.instance;
  context.boot_id = host.boot_id;
  context.build = host.config.build;
  context.daemon = keeper::PeerCredentials{host.config.daemon_uid};
  context.waits_for_use = plan.waits_for_use;
  if (plan.spool_bytes > 0) context.sandbox_spool_limit = plan.spool_bytes;
  context.lifeline_fd = lifeline_write.release();
  context.root_fd = message.fds[kRoot].release();
  context.devpts_fd = message.fds[kDevpts].release();
  context.meminfo_fd = message.fds[kMeminfo].release();
  context.stat_fd = message.fds[kStat].release();
  context.bare_root_fd = message.fds[kBareRoot].release();
  if (!plan.init.groups.unified) {
    context.memory_current_fd = message.fds[kMemoryCurrent].release();
  }
  context.cpus = plan.init.cpus.ids;
  context.memory_bytes = plan.init.memory_bytes;
  if (message.bytes.starts_with(kUpWithout))
    plan.no_network = message.bytes.substr(kUpWithout.size());
  if (gate >= 0 && !plan.no_network.empty()) {
    ::close(gate);  // nobody waits for sockets that are not there
  } else if (gate >= 0) {
    context.gate_fd = gate;
    context.policy = plan.policy;
    for (std::size_t i = first_socket; i < message.fds.size(); ++i) {
      context.lent_fds.push_back(message.fds[i].release());
    }
  }
  context.own_clocks = host.own_clocks;
  context.gate_uid = host.config.gate_uid;
  context.profile = plan.init.profile;
  context.pure_v2 = host.groups.pure_v2();
  context.clones_into_groups = host.groups.clones_into();
  context.oom_victims_fd = host.oom.victims();
  CAY_CHECK(keeper::check(context));
  CAY_CHECK(wait_until_held(*init, message.fds[kHeld].get()));
  context.init_pidfd = init->pidfd.release();
  return context;
}

}  // namespace

void run_keeper(const Host& host, KeeperPlan plan) {
  auto context = make_sandbox(host, plan);
  if (!context) {
    (void)os::send_message(plan.control_fd, context.error().message);
    ::_exit(1);
  }
  (void)os::send_message(plan.control_fd,
                         plan.no_network.empty() ? "ready" : "ready " + plan.no_network);
  ::close(plan.control_fd);
  keeper::run(*context);
}

}  // namespace cay::launcher
