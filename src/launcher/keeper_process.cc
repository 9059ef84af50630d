#include "launcher/keeper_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
#include "os/caps.h"
#include "os/file.h"
#include "os/process.h"
#include "os/unix_socket.h"

namespace cay::launcher {
namespace {

constexpr std::uint64_t kNamespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                      CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP;

void reset_process(const Host& host, const KeeperPlan& plan) {
  ::prctl(PR_SET_NAME, "cay-keeper", 0, 0, 0);
  scrub_arguments(host.config.arguments, host.config.arguments_size, "cay-keeper");
  // The launcher's terminal or log must not be held open by every sandbox.
  for (int fd = 0; fd < 3; ++fd) ::dup2(host.null.get(), fd);
  const SandboxGroups& groups = *plan.groups;
  std::vector<int> kept{0,
                        1,
                        2,
                        host.empty.get(),
                        plan.slot_fd,
                        plan.listen_fd,
                        plan.spool_fd,
                        plan.control_fd,
                        plan.init_fd,
                        groups.cmds.get(),
                        groups.memory.get(),
                        groups.pids.get(),
                        groups.cpu.get()};
  if (plan.gate_fd >= 0) kept.push_back(plan.gate_fd);
  if (host.oom.victims() >= 0) {
    kept.push_back(host.oom.victims());
    kept.push_back(host.oom.link());  // never used here: held, as below
  }
  if (plan.tap != nullptr) {
    kept.push_back(plan.tap->ring.get());
    kept.push_back(plan.tap->state.get());
    // Never used here: held, so that the record outlives the launcher.
    kept.insert(kept.end(), plan.tap->links.begin(), plan.tap->links.end());
  }
  os::close_all_but(std::move(kept));
  ::setsid();
  // Keyrings are in no namespace. The filter refuses all calls for them; behind it lies none of the
  // launcher's. If the kernel has none, or a container's filter refuses it, there is nothing to
  // inherit or reach.
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  ::umask(022);
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < SIGRTMAX; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{1, 1};  // at 0 one would go to a program of the host's (core(5))
  ::setrlimit(RLIMIT_CORE, &no_core);
}

// The launcher may be protected from the kernel's out-of-memory killer. A keeper is not: what it
// forks is the guest's, and a process may always go back to the lowest value that root gave it
// (proc(5), oom_score_adj).
Result<void> be_an_ordinary_victim() {
  return os::write_file(AT_FDCWD, "/proc/self/oom_score_adj", "0");
}

// How init's answer begins if it is up without the way out that was wanted. The reason follows.
constexpr std::string_view kUpWithout = "up ";

Result<void> become(uid_t uid) {
  if (::setgroups(0, nullptr) != 0) return Error::from_errno(errno, "setgroups");
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
    return Error::from_errno(errno, "keep capabilities");
  if (::setresgid(uid, uid, uid) != 0) return Error::from_errno(errno, "setresgid");
  if (::setresuid(uid, uid, uid) != 0) return Error::from_errno(errno, "setresuid");
  // CAP_SYS_ADMIN only for the clone: hosts that deny user namespaces to the unprivileged allow it
  // so.
  if (!os::set_capabilities(os::cap_bit(CAP_SYS_ADMIN) | os::cap_bit(CAP_SYS_CHROOT) |
                            os::cap_bit(CAP_SETPCAP))) {
    return Error::from_errno(errno, "reduce capabilities");
  }
  if (!os::drop_bounding_set()) return Error::from_errno(errno, "empty the bounding set");
  return {};
}

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
  return Error{Code::kInternal, "boot_failed", "init ended before the sandbox was up", 0};
}

// Tries the filter that every command needs, before there is one.
Result<void> try_filter(const KeeperPlan& plan) {
  const bool injected = plan.init.fail_step == "try a command's filter";
  CAY_TRY(const unsigned taken, keeper::try_guest_filters(plan.init.profile, injected ? 0 : 1));
  return taken > 0 ? Result<void>() : keeper::no_filter_room();
}

Result<keeper::Context> make_sandbox(const Host& host, KeeperPlan& plan) {
  if (plan.joins_group) {
    CAY_CHECK(os::write_file(plan.groups->keeper.get(), "cgroup.procs", "0"));
  }
  // It needs no network: it uses sockets by path, and descriptors that it was given. So a keeper
  // that was taken over reaches no port of the host.
  if (::setns(host.no_network.get(), CLONE_NEWNET) != 0)
    return Error::from_errno(errno, "enter the empty network namespace");
  reset_process(host, plan);
  CAY_CHECK(be_an_ordinary_victim());
  CAY_CHECK(become(plan.uid));
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
  auto init = os::clone_process(kNamespaces);
  if (!init) return std::move(init).error().while_doing("make the namespaces");
  if (init->pid == 0) run_init(plan.init);
  if (!os::set_capabilities(os::cap_bit(CAP_SYS_CHROOT)))
    return Error::from_errno(errno, "reduce capabilities");
  up.theirs.reset();
  lifeline_read.reset();
  ::close(plan.init_fd);
  CAY_CHECK(os::send_message(plan.control_fd, "init " + std::to_string(init->pid)));
  CAY_CHECK(try_filter(plan));  // meanwhile: init and the launcher have something to do
  CAY_TRY(os::Message message, os::receive_message(up.ours.get()));
  // Empty: init ended, and sent the launcher the reason.
  const std::size_t first_socket = kMemoryCurrent + (plan.init.groups.unified ? 0 : 1);
  if (message.fds.size() < first_socket) ::_exit(1);
  CAY_CHECK(wait_until_held(*init, message.fds[kHeld].get()));
  keeper::Context context;
  std::vector<std::string> in_memory;
  for (const wire::TmpfsMount& mount : plan.init.tmpfs) in_memory.push_back(mount.path);
  context.tmpfs_fds = keeper::open_tmpfs(message.fds[kRoot].get(), in_memory);
  CAY_CHECK(jail(host));
  ::close(host.empty.get());
  context.sandbox_id = plan.id;
  context.instance = host.config.instance;
  context.boot_id = host.boot_id;
  context.build = host.config.build;
  context.listen_fd = plan.listen_fd;
  context.daemon = keeper::PeerCredentials{host.config.daemon_uid};
  context.spool_fd = plan.spool_fd;
  context.waits_for_use = plan.waits_for_use;
  if (plan.spool_bytes > 0) context.sandbox_spool_limit = plan.spool_bytes;
  context.lifeline_fd = lifeline_write.release();
  context.init_pidfd = init->pidfd.release();
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
  if (plan.gate_fd >= 0 && !plan.no_network.empty()) {
    ::close(plan.gate_fd);  // nobody waits for sockets that are not there
  } else if (plan.gate_fd >= 0) {
    context.gate_fd = plan.gate_fd;
    context.policy = plan.policy;
    for (std::size_t i = first_socket; i < message.fds.size(); ++i) {
      context.lent_fds.push_back(message.fds[i].release());
    }
  }
  context.own_clocks = host.own_clocks;
  context.gate_uid = host.config.gate_uid;
  context.profile = plan.init.profile;
  context.cgroup_fd = plan.groups->cmds.get();
  context.memory_fd = plan.groups->memory.get();
  context.pids_fd = plan.groups->pids.get();
  context.cpu_fd = plan.groups->cpu.get();
  context.pure_v2 = host.groups.pure_v2();
  context.clones_into_groups = host.groups.clones_into();
  context.oom_victims_fd = host.oom.victims();
  if (plan.tap != nullptr) {
    context.program_ring_fd = plan.tap->ring.get();
    context.program_state_fd = plan.tap->state.get();
    context.first_uid = plan.first_uid;
  }
  CAY_CHECK(keeper::check(context));
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
