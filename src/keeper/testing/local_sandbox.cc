#include "keeper/testing/local_sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "keeper/stats.h"

namespace cay::keeper::testing {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text << std::flush;
  if (!out) throw std::runtime_error("write " + path);
}

void must(bool fine, const char* what) {
  if (fine) return;
  std::perror(what);
  ::_exit(99);
}

std::string unified_root() {
  if (fs::exists("/sys/fs/cgroup/unified/cgroup.procs")) return "/sys/fs/cgroup/unified";
  if (fs::exists("/sys/fs/cgroup/cgroup.procs")) return "/sys/fs/cgroup";
  return {};
}

void own(const std::string& path, uid_t uid) {
  [[maybe_unused]] const int done = ::chown(path.c_str(), uid, uid);
}

UniqueFd open_dir(const std::string& path) {
  return UniqueFd(path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void remove_groups(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !fs::exists(path)) return;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.is_directory()) remove_groups(entry.path());
  }
  ::rmdir(path.c_str());
}

}  // namespace

bool LocalSandbox::possible(std::string& why) {
  if (::geteuid() != 0) {
    why = "needs root";
  } else if (unified_root().empty()) {
    why = "needs cgroup v2, alone or beside v1";
  }
  return why.empty();
}

LocalSandbox::LocalSandbox(std::uint64_t memory_bytes) {
  static int count = 0;
  name_ = "cay-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  const std::string top = unified_root() + "/" + name_;
  unified_ = top + "/cmds";
  pure_v2_ = !unified_root().ends_with("/unified");
  fs::create_directory(top);
  if (pure_v2_) {
    put(unified_root() + "/cgroup.subtree_control", "+memory +pids");
    put(top + "/cgroup.subtree_control", "+memory +pids");
  }
  fs::create_directory(top + "/keeper");
  fs::create_directory(unified_);
  if (pure_v2_) {
    put(unified_ + "/cgroup.subtree_control", "+memory");
    put(unified_ + "/memory.max", std::to_string(memory_bytes));
    put(unified_ + "/pids.max", "200");
  } else {
    memory_ = "/sys/fs/cgroup/memory/" + name_;
    pids_ = "/sys/fs/cgroup/pids/" + name_;
    fs::create_directory(memory_);
    fs::create_directory(pids_);
    put(memory_ + "/memory.limit_in_bytes", std::to_string(memory_bytes));
    put(pids_ + "/pids.max", "200");
  }
  for (const std::string& dir : {top + "/keeper", unified_, memory_, pids_}) {
    if (dir.empty()) continue;
    own(dir, kKeeperUid);
    own(dir + "/cgroup.procs", kKeeperUid);
    if (fs::exists(dir + "/tasks")) own(dir + "/tasks", kKeeperUid);
  }
  own(top + "/cgroup.procs", kKeeperUid);  // a move needs it on the common ancestor
}

LocalSandbox::~LocalSandbox() {
  const std::string top = fs::path(unified_).parent_path();
  for (int i = 0; i < 200 && fs::exists(top); ++i) {
    std::ofstream(top + "/cgroup.kill") << "1";
    for (const std::string& dir : {top, memory_, pids_}) remove_groups(dir);
    ::poll(nullptr, 0, 10);  // rmdir fails with EBUSY until the last process is reaped
  }
  remove_groups(memory_);
  remove_groups(pids_);
}

void LocalSandbox::enter(Context& context) {
  const std::string top = fs::path(unified_).parent_path();
  put(top + "/keeper/cgroup.procs", "0");
  UniqueFd unified = open_dir(unified_), memory = open_dir(memory_), pids = open_dir(pids_);
  int lifeline[2], mapped[2], told[2];
  must(::pipe2(lifeline, O_CLOEXEC) == 0 && ::pipe2(mapped, O_CLOEXEC) == 0 &&
           ::pipe2(told, O_CLOEXEC) == 0,
       "pipe");
  // A root helper writes the maps once the keeper, no longer root, has made init.
  const pid_t mapper = ::fork();
  must(mapper >= 0, "fork");
  if (mapper == 0) {
    pid_t init = 0;
    if (::read(told[0], &init, sizeof init) != ssize_t{sizeof init}) ::_exit(1);
    const std::string proc = "/proc/" + std::to_string(init);
    const std::string map = "0 " + std::to_string(kFirstGuestUid) + " 65536";
    put(proc + "/uid_map", map);
    put(proc + "/gid_map", map);
    ::_exit(::write(mapped[1], "x", 1) == 1 ? 0 : 1);
  }
  must(::setgroups(0, nullptr) == 0 && ::setresgid(kKeeperUid, kKeeperUid, kKeeperUid) == 0 &&
           ::setresuid(kKeeperUid, kKeeperUid, kKeeperUid) == 0,
       "drop");
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS |
               CLONE_NEWIPC | CLONE_NEWCGROUP | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  const auto init = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
  must(init >= 0, "clone3");
  if (init == 0) {
    char go = 0;
    ::close(lifeline[1]);
    must(::read(mapped[0], &go, 1) == 1, "maps");
    must(::setresgid(0, 0, 0) == 0 && ::setresuid(0, 0, 0) == 0, "become root inside");
    must(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private");
    must(::mount("proc", "/proc", "proc", 0, nullptr) == 0, "proc");
    must(::mount("tmpfs", "/dev/shm", "tmpfs", 0, nullptr) == 0, "shm");
    must(::mount("devpts", "/dev/pts", "devpts", 0, "newinstance,mode=620,ptmxmode=666,gid=5") == 0,
         "devpts");
    const UniqueFd any(::socket(AF_INET, SOCK_DGRAM, 0));
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
    must(::ioctl(any.get(), SIOCSIFFLAGS, &loopback) == 0, "loopback");
    // setns(pidfd) needs trace access, which an undumpable process of this memory would refuse.
    ::prctl(PR_SET_DUMPABLE, 1);
    ::close(mapped[0]);
    ::close(mapped[1]);
    must(::write(told[1], "r", 1) == 1, "ready");
    ::signal(SIGCHLD, SIG_IGN);
    pollfd alive{lifeline[0], POLLIN, 0};
    while (::poll(&alive, 1, -1) <= 0) {
    }
    ::_exit(0);
  }
  must(::write(told[1], &init, sizeof init) == ssize_t{sizeof init}, "send init's pid");
  must(::waitpid(mapper, nullptr, 0) == mapper, "mapper");
  char ready = 0;
  must(::read(told[0], &ready, 1) == 1, "init");
  for (const int fd : {lifeline[0], mapped[0], mapped[1], told[0], told[1]}) ::close(fd);
  const std::string terminals = "/proc/" + std::to_string(init) + "/root/dev/pts";
  context.devpts_fd = ::open(terminals.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  must(context.devpts_fd >= 0, "open devpts");
  const UniqueFd root(::open(("/proc/" + std::to_string(init) + "/root").c_str(),
                             O_PATH | O_DIRECTORY | O_CLOEXEC));
  context.tmpfs_fds = open_tmpfs(root.get());
  context.init_pidfd = pidfd;
  context.lifeline_fd = lifeline[1];
  context.cgroup_fd = unified.release();
  context.memory_fd = memory.release();
  context.pids_fd = pids.release();
  context.pure_v2 = pure_v2_;
  context.clones_into_groups = true;
}

}  // namespace cay::keeper::testing
