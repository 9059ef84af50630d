#include "keeper/child.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "keeper/confine.h"
#include "keeper/guest_user.h"
#include "keeper/long_arguments.h"

namespace cay::keeper {
namespace {

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

[[noreturn]] void fail(int status_fd, const char* step, int err) {
  report_failure(status_fd, step, err);
  ::_exit(127);
}

// close_range over the gaps between the few descriptors that are kept.
void close_all_but(int* keep, int count) {
  for (int i = 1; i < count; ++i) {  // insertion sort: at most a dozen
    for (int j = i; j > 0 && keep[j - 1] > keep[j]; --j) {
      const int other = keep[j];
      keep[j] = keep[j - 1];
      keep[j - 1] = other;
    }
  }
  unsigned from = 0;
  for (int i = 0; i < count; ++i) {
    if (keep[i] < 0) continue;
    const auto fd = static_cast<unsigned>(keep[i]);
    if (fd > from) ::syscall(SYS_close_range, from, fd - 1, 0);
    from = fd + 1;
  }
  ::syscall(SYS_close_range, from, ~0U, 0);
}

// Moves `fd` to `to` by way of a high number, so that no target overwrites a source.
int lift(int fd) { return fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 64); }

// "NAME=value" into the free places of env, unless there is one already.
struct EnvFiller {
  const ChildPlan& plan;
  int count;

  const char* find(const char* name) const {
    const std::size_t length = std::strlen(name);
    for (int i = 0; i < count; ++i) {
      if (std::strncmp(plan.env[i], name, length) == 0 && plan.env[i][length] == '=')
        return plan.env[i] + length + 1;
    }
    return nullptr;
  }
  void add(const char* name, const char* value, char* buffer, std::size_t size) {
    if (find(name) != nullptr || count >= plan.env_count + kSpareEnv) return;
    const std::size_t name_length = std::strlen(name);
    const std::size_t value_length = std::strlen(value);
    if (name_length + value_length + 2 > size) return;
    std::memcpy(buffer, name, name_length);
    buffer[name_length] = '=';
    std::memcpy(buffer + name_length + 1, value, value_length + 1);
    plan.env[count++] = buffer;
    plan.env[count] = nullptr;
  }
};

void fill_env(const ChildPlan& plan, const GuestUser& user, EnvFiller& filler) {
  static char home[640], name[128], logname[128], shell[320], term[64], path[256];
  filler.add("HOME", user.home, home, sizeof home);
  filler.add("USER", user.name, name, sizeof name);
  filler.add("LOGNAME", user.name, logname, sizeof logname);
  filler.add("SHELL", user.shell, shell, sizeof shell);
  filler.add("PATH", kDefaultPath, path, sizeof path);
  if (plan.terminal.socket >= 0) filler.add("TERM", "xterm-256color", term, sizeof term);
}

// As execvp, over the command's own PATH. Returns the errno to tell.
int exec_program(const ChildPlan& plan, const char* path) {
  const char* file = plan.argv[0];
  if (*file == '\0') return ENOENT;
  if (std::strchr(file, '/') != nullptr) {
    ::execve(file, plan.argv, plan.env);
    return errno;
  }
  static char full[4096];
  const std::size_t file_length = std::strlen(file);
  bool denied = false;
  for (const char* at = path;;) {
    const char* end = at;
    while (*end != '\0' && *end != ':') ++end;
    const auto length = static_cast<std::size_t>(end - at);
    if (length + file_length + 2 <= sizeof full) {
      std::memcpy(full, at, length);
      std::size_t used = length;
      if (length > 0) full[used++] = '/';  // an empty element is the working directory
      std::memcpy(full + used, file, file_length + 1);
      ::execve(full, plan.argv, plan.env);
      if (errno == EACCES) {
        denied = true;
      } else if (errno != ENOENT && errno != ENOTDIR) {
        return errno;
      }
    }
    if (*end == '\0') break;
    at = end + 1;
  }
  return denied ? EACCES : ENOENT;
}

void set_descriptors(const ChildPlan& plan, int& status_fd, int& task_fd, int& layer_root_fd,
                     int& terminal_fd, int& devpts_fd) {
  status_fd = lift(plan.status_fd);
  task_fd = lift(plan.task_fd);
  layer_root_fd = lift(plan.layer_root_fd);
  terminal_fd = lift(plan.terminal.socket);
  devpts_fd = terminal_fd < 0 ? -1 : lift(plan.terminal.devpts);
  const int line_fd = lift(plan.line_fd);
  int stdio[3];
  for (int i = 0; i < 3; ++i) stdio[i] = lift(plan.stdio[i]);
  for (int i = 0; i < 3; ++i) {
    if (stdio[i] >= 0) {
      ::dup2(stdio[i], i);
    } else {
      ::close(i);
    }
  }
  ::dup3(status_fd, 3, O_CLOEXEC);
  status_fd = 3;
  int next = 4;
  for (int* fd : {&task_fd, &layer_root_fd, &terminal_fd, &devpts_fd}) {
    if (*fd < 0) continue;
    ::dup3(*fd, next, O_CLOEXEC);
    *fd = next++;
  }
  if (line_fd >= 0) {
    ::dup2(line_fd, kLineFd);  // stays open over exec
    ::syscall(SYS_close_range, static_cast<unsigned>(next), static_cast<unsigned>(kLineFd) - 1, 0);
    next = kLineFd + 1;
  }
  ::syscall(SYS_close_range, static_cast<unsigned>(next), ~0U, 0);
}

[[noreturn]] void become(const ChildPlan& plan) {
  int status_fd = -1;
  int task_fd = -1;
  int layer_root_fd = -1;
  int terminal_fd = -1;
  int devpts_fd = -1;
  ::prctl(PR_SET_DUMPABLE, 0);
  set_descriptors(plan, status_fd, task_fd, layer_root_fd, terminal_fd, devpts_fd);
  if (plan.die_with_keeper) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::setsid() < 0) fail(status_fd, "setsid", errno);

  static GuestUser user;
  if (!resolve_user(plan.user, user)) fail(status_fd, "user", errno);
  ::umask(022);
  Confinement to;
  to.uid = user.uid;
  to.gid = user.gid;
  to.groups = user.groups;
  to.group_count = user.group_count;
  to.profile = plan.profile;
  to.file_helper = plan.task != nullptr;
  to.layer_root_fd = layer_root_fd;
  to.scheduling = plan.scheduling;
  to.changed_signals = plan.changed_signals;
  to.cpus = plan.cpus;
  to.is_prepared = plan.is_prepared;
  if (const char* step = confine(to); step != nullptr) fail(status_fd, step, errno);
  // A change of user sets this back to what the host's suid_dumpable says.
  ::prctl(PR_SET_DUMPABLE, 0);

  if (terminal_fd >= 0) {
    // Lifted: 0, 1 and 2 are closed until now, so it may have come to lie there, where it would not
    // outlive exec.
    const int tty = lift(open_terminal(terminal_fd, devpts_fd, plan.terminal));
    if (tty < 0 || ::ioctl(tty, TIOCSCTTY, 0) != 0) fail(status_fd, "terminal", errno);
    for (int i = 0; i < 3; ++i) ::dup2(tty, i);
  }
  if (*plan.cwd != '\0') {
    if (::chdir(plan.cwd) != 0) fail(status_fd, "cwd", errno);
  } else if (::chdir(user.home) != 0 && ::chdir("/") != 0) {
    fail(status_fd, "cwd", errno);
  }
  StartReport report;
  report.kind = StartReport::kReady;
  report.guest_pid = static_cast<std::int32_t>(::syscall(SYS_getpid));
  report.uid = user.uid;
  std::strncpy(report.home, user.home, sizeof report.home - 1);

  if (plan.task != nullptr) {
    ::signal(SIGPIPE, SIG_IGN);
    [[maybe_unused]] const ssize_t done = ::write(status_fd, &report, sizeof report);
    ::close(status_fd);
    ::_exit(plan.task(task_fd, layer_root_fd, plan.task_data));
  }
  EnvFiller filler{plan, plan.env_count};
  fill_env(plan, user, filler);
  const char* path = filler.find("PATH");
  if (::write(status_fd, &report, sizeof report) != ssize_t{sizeof report}) ::_exit(127);
  const int err = exec_program(plan, path != nullptr ? path : kDefaultPath);
  fail(status_fd, "exec", err);
}

// Makes a cgroup namespace rooted in the groups that it joined, so that /proc/self/cgroup has "/"
// in every hierarchy. Init's would show names of groups, which hold the instance's and the
// sandbox's ids.
void hide_groups(const ChildPlan& plan) {
  if (::unshare(CLONE_NEWCGROUP) != 0) fail(plan.status_fd, "enter", errno);
}

void join_groups(const ChildPlan& plan) {
  for (int i = 0; i < plan.join_count; ++i) {
    if (::write(plan.joins[i], "0", 1) != 1) fail(plan.status_fd, "join cgroup", errno);
  }
}

}  // namespace

void report_failure(int status_fd, const char* step, int err) {
  StartReport report;
  report.kind = StartReport::kFailed;
  report.err = err;
  std::strncpy(report.step, step, sizeof report.step - 1);
  [[maybe_unused]] const ssize_t done = ::write(status_fd, &report, sizeof report);
}

bool enter_namespaces(int init_pidfd, bool own_clocks) {
  constexpr int kAll =
      CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC;
  return ::setns(init_pidfd, kAll | (own_clocks ? CLONE_NEWTIME : 0)) == 0;
}

void become_command(const ChildPlan& plan) {
  join_groups(plan);
  hide_groups(plan);
  become(plan);
}

void enter(const ChildPlan& plan) {
  const Scheduling own = own_scheduling();
  join_groups(plan);
  // Before entering: whatever guest root can see must hold its own pipes only.
  int keep[] = {plan.status_fd,       plan.init_pidfd,
                plan.stdio[0],        plan.stdio[1],
                plan.stdio[2],        plan.task_fd,
                plan.layer_root_fd,   plan.line_fd,
                plan.terminal.socket, plan.terminal.socket < 0 ? -1 : plan.terminal.devpts};
  close_all_but(keep, static_cast<int>(sizeof keep / sizeof keep[0]));
  if (plan.init_pidfd >= 0) {
    if (!enter_namespaces(plan.init_pidfd, plan.own_clocks)) fail(plan.status_fd, "enter", errno);
    hide_groups(plan);
  }
  // CLONE_VM: E goes at once and leaves C its memory, which saves a copy. No exit signal: with
  // CLONE_PARENT the kernel gives C that of E. The pid is in the cell before C runs, so that its
  // death can never come as a surprise.
  // The stack is large for file tasks, which walk trees of 500 levels; what is not touched costs
  // nothing.
  alignas(64) static char stack[4 * 1024 * 1024];
  const auto run = [](void* data) -> int { become(*static_cast<const ChildPlan*>(data)); };
  static ChildPlan copy;
  copy = plan;
  copy.scheduling = own;
  const int pid = ::clone(run, stack + sizeof stack, CLONE_VM | CLONE_PARENT | CLONE_PARENT_SETTID,
                          &copy, plan.pid_cell);
  if (pid < 0) fail(plan.status_fd, "clone", errno);
  ::_exit(0);
}

}  // namespace cay::keeper
