// The program inside the sandbox of the launcher's tests (static; the layer holds little else).
// Prints "name=value" lines of what it sees and of what it is refused.
#include <dirent.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

void say(const std::string& name, const std::string& value) {
  std::printf("%s=%s\n", name.c_str(), value.c_str());
}
void say_call(const std::string& name, bool ok) { say(name, ok ? "ok" : std::strerror(errno)); }

std::string slurp(const char* path) {
  std::string out;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::string("!") + std::strerror(errno);
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<std::size_t>(n));
  ::close(fd);
  return out;
}

std::string names_in(const char* path) {
  std::string out;
  DIR* dir = ::opendir(path);
  if (dir == nullptr) return std::string("!") + std::strerror(errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(dir);
  for (const std::string& name : names) out += name + " ";
  return out;
}

std::string device(const char* path) {
  struct stat info{};
  if (::stat(path, &info) != 0) return std::string("!") + std::strerror(errno);
  if (!S_ISCHR(info.st_mode)) return "not a device";
  return std::to_string(major(info.st_rdev)) + ":" + std::to_string(minor(info.st_rdev));
}

bool opens(const char* path, int flags) {
  const int fd = ::open(path, flags | O_CLOEXEC, 0644);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

bool loopback_works() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, any, size) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, any, &size) != 0)
    return false;
  return ::connect(::socket(AF_INET, SOCK_STREAM, 0), any, size) == 0;
}

int facts() {
  utsname name{};
  ::uname(&name);
  say("hostname", name.nodename);
  say("uid_map", slurp("/proc/self/uid_map"));
  say("root", names_in("/"));
  say("null", device("/dev/null"));
  say("tty", device("/dev/tty"));
  say("dev", names_in("/dev"));
  say("pid1_cmdline", slurp("/proc/1/cmdline").c_str());
  say("pid1_comm", slurp("/proc/1/comm"));
  say("mounts", "\n" + slurp("/proc/self/mountinfo"));
  say("keys", slurp("/proc/keys"));
  say("firmware", names_in("/sys/firmware"));
  say_call("write_sysctl", opens("/proc/sys/net/ipv4/ip_forward", O_WRONLY));
  say_call("write_root", opens("/made-inside", O_WRONLY | O_CREAT));
  say_call("write_tmp", opens("/tmp/made-inside", O_WRONLY | O_CREAT));
  say_call("ptmx", opens("/dev/ptmx", O_RDWR | O_NOCTTY));
  say_call("read_null", opens("/dev/null", O_RDWR));
  say_call("loopback", loopback_works());
  say("etc_hostname", slurp("/etc/hostname"));
  say("etc_resolver", slurp("/etc/resolv.conf"));
  char clocks[64] = {};
  say_call("clocks", ::readlink("/proc/self/ns/time", clocks, sizeof clocks - 1) > 0);
  say("clocks_namespace", clocks);
  say("uptime", slurp("/proc/uptime"));
  say("boot_id", slurp("/proc/sys/kernel/random/boot_id"));
  say("session_keyring",
      std::to_string(::syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0)));
  for (const std::string state : {"tcp_timeout_syn_sent", "tcp_timeout_fin_wait",
                                  "tcp_timeout_time_wait", "udp_timeout_stream"}) {
    say(state.c_str(), slurp(("/proc/sys/net/netfilter/nf_conntrack_" + state).c_str()));
  }
  return 0;
}

int attack_init() {
  const pid_t own = ::fork();
  if (own == 0) {
    ::pause();
    ::_exit(0);
  }
  say_call("control_ptrace", ::ptrace(PTRACE_SEIZE, own, nullptr, nullptr) == 0);
  ::kill(own, SIGKILL);
  say_call("ptrace", ::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr) == 0);
  say_call("mem", opens("/proc/1/mem", O_RDONLY));
  say_call("environ", opens("/proc/1/environ", O_RDONLY));
  char link[256];
  say_call("exe", ::readlink("/proc/1/exe", link, sizeof link) >= 0);
  say_call("fd", opens("/proc/1/fd/0", O_RDONLY) || names_in("/proc/1/fd")[0] != '!');
  rlimit limit{1, 1};
  say_call("prlimit", ::prlimit(1, RLIMIT_CPU, &limit, nullptr) == 0);
  say_call("nice", ::setpriority(PRIO_PROCESS, 1, 19) == 0);
  ::kill(1, SIGKILL);
  ::kill(1, SIGSTOP);
  ::kill(1, SIGTERM);
  // As any other uid inside, too.
  for (const uid_t uid : {65534U, 65535U}) {
    if (::fork() == 0) {
      if (::setuid(uid) == 0) {
        say_call("ptrace_as_" + std::to_string(uid),
                 ::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr) == 0);
        say_call("prlimit_as_" + std::to_string(uid),
                 ::prlimit(1, RLIMIT_CPU, &limit, nullptr) == 0);
      }
      std::fflush(stdout);
      ::_exit(0);
    }
    while (::wait(nullptr) > 0) {
    }
  }
  ::sleep(1);  // time for a signal to do harm: the test then checks that the sandbox still answers
  say("state", slurp("/proc/1/stat"));
  return 0;
}

int eat(std::size_t mebibytes) {
  for (std::size_t i = 0; i < mebibytes; ++i) {
    char* memory = static_cast<char*>(::operator new(1 << 20));
    std::memset(memory, 1, 1 << 20);
  }
  say("ate", "all");
  return 0;
}

int fill(const char* path, std::size_t mebibytes) {
  const int fd = ::open(path, O_WRONLY | O_CREAT, 0644);
  const std::string block(1 << 20, 'x');
  for (std::size_t i = 0; i < mebibytes; ++i) {
    for (std::size_t done = 0; done < block.size();) {
      const ssize_t n = ::write(fd, block.data() + done, block.size() - done);
      if (n < 0) {
        say_call("filled", false);
        ::unlink(path);
        return 0;
      }
      done += static_cast<std::size_t>(n);
    }
  }
  say_call("filled", ::fsync(fd) == 0);
  return 0;
}

// `body` in a child of its own: what it does to itself is gone with it.
template <class Body>
void say_apart(const std::string& name, Body body) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    say_call(name, body());
    std::fflush(stdout);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

// As root of a container's own user, mount and pid namespaces. False: they cannot be made, or
// `body` fails.
template <class Body>
bool contained(Body body) {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    errno = 0;
    ::_exit(body() ? 0 : (errno != 0 ? errno : EIO));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  errno = WEXITSTATUS(status);
  return status == 0;
}

// How many mount namespaces this user can have at once; -1: not even a user namespace to make them
// in.
int most_mount_namespaces() {
  if (::unshare(CLONE_NEWUSER) != 0) return -1;
  for (int made = 0;; ++made) {
    if (::unshare(CLONE_NEWNS) != 0 || made == 1000) return made;
    if (::open("/proc/self/ns/mnt", O_RDONLY) < 0) return -2;  // held by it
  }
}

int namespaces() {
  say_apart("users", [] { return ::unshare(CLONE_NEWUSER) == 0; });
  say_apart("own_proc", [] {
    return contained([] {
      return ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
    });
  });
  say_apart("own_tmpfs", [] {
    return contained([] { return ::mount("none", "/tmp", "tmpfs", 0, nullptr) == 0; });
  });
  say_apart("own_sysfs", [] {
    return contained([] {
      return ::unshare(CLONE_NEWNET) == 0 && ::mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0;
    });
  });
  say_apart("own_network", [] { return contained([] { return ::unshare(CLONE_NEWNET) == 0; }); });
  for (const char* cover : {"/proc", "/proc/keys", "/proc/sys", "/dev/.nested"}) {
    say_apart(std::string("uncover:") + cover,
              [cover] { return contained([cover] { return ::umount2(cover, MNT_DETACH) == 0; }); });
  }
  say_apart("write_sysctl", [] {
    return contained([] { return opens("/proc/sys/kernel/core_pattern", O_WRONLY); });
  });
  say_apart("write_own_sysctl", [] {
    return contained([] {
      return ::mount("proc", "/proc", "proc", 0, nullptr) == 0 &&
             opens("/proc/sys/kernel/core_pattern", O_WRONLY);
    });
  });
  say_apart("sysrq", [] {
    return contained([] {
      return ::mount("proc", "/proc", "proc", 0, nullptr) == 0 &&
             opens("/proc/sysrq-trigger", O_WRONLY);
    });
  });
  say("hidden", names_in("/dev/.nested"));
  std::fflush(stdout);
  if (::fork() == 0) {
    say("mount_namespaces", std::to_string(most_mount_namespaces()));
    std::fflush(stdout);
    ::_exit(0);
  }
  ::wait(nullptr);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "facts";
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (verb == "facts") return facts();
  if (verb == "attack-init") return attack_init();
  if (verb == "namespaces") return namespaces();
  if (verb == "eat") return eat(static_cast<std::size_t>(std::stoul(argv[2])));
  if (verb == "fill") return fill(argv[2], static_cast<std::size_t>(std::stoul(argv[3])));
  if (verb == "put") {  // a file with one line
    const int fd = ::open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    say_call("put", fd >= 0 && ::dprintf(fd, "%s\n", argv[3]) > 0);
    return 0;
  }
  if (verb == "get") {
    say("got", slurp(argv[2]));
    return 0;
  }
  if (verb == "link") {
    ::unlink(argv[3]);
    say_call("linked", ::symlink(argv[2], argv[3]) == 0);
    return 0;
  }
  if (verb == "unlink") {
    say_call("unlinked", ::unlink(argv[2]) == 0);
    return 0;
  }
  if (verb == "identity") {  // device and inode number: one file to most programs
    struct stat info{};
    say_call("stat", ::stat(argv[2], &info) == 0);
    say("identity", std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino));
    return 0;
  }
  if (verb == "replace") {  // as an editor does: a new file, renamed over the old one
    const int fd = ::open("/etc/new", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    say_call("replaced",
             fd >= 0 && ::dprintf(fd, "%s\n", argv[3]) > 0 && ::rename("/etc/new", argv[2]) == 0);
    return 0;
  }
  if (verb == "trap") {  // leaves traps where the next boot mounts
    ::mkdir("/victim", 0755);
    say_call("unlink_dev", ::rename("/etc", "/old-etc") == 0 && ::symlink("/victim", "/etc") == 0);
    return 0;
  }
  return 2;
}
