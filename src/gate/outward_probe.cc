#include "gate/outward_probe.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/unique_fd.h"

namespace cay::gate {
namespace {

void told(const char* name, bool ok) {
  const char* error = ok ? nullptr : ::strerrorname_np(errno);
  std::printf("%s %s\n", name, ok ? "ok" : error != nullptr ? error : "?");
}

bool opens(const std::string& path, int flags) {
  return static_cast<bool>(UniqueFd(::open(path.c_str(), flags | O_CLOEXEC, 0600)));
}

// The owner of a descriptor chooses the signal that it sends when it is readable. Signal 0 would
// mean SIGIO.
bool signals_by_descriptor(pid_t process) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const UniqueFd from(ends[0]);
  const UniqueFd to(ends[1]);
  return ::fcntl(from.get(), F_SETOWN, process) == 0 &&
         ::fcntl(from.get(), F_SETSIG, SIGCONT) == 0 &&
         ::fcntl(from.get(), F_SETFL, O_ASYNC) == 0 && ::write(to.get(), "x", 1) == 1;
}

// Sets what is so already, by a pointer of which the low word is 0.
bool sets_limits() {
  constexpr std::uintptr_t kAt = std::uintptr_t{1} << 45;
  void* const page = ::mmap(reinterpret_cast<void*>(kAt), sizeof(rlimit), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (page == MAP_FAILED) return false;
  auto* const limit = static_cast<rlimit*>(page);
  return ::getrlimit(RLIMIT_CORE, limit) == 0 &&
         ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, limit, nullptr) == 0;
}

template <class Address>
bool binds(int type, const Address& address, int family) {
  const UniqueFd at(::socket(family, type | SOCK_CLOEXEC, 0));
  return at && ::bind(at.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool binds_port(int type) {
  sockaddr_in loopback{};  // any port of it
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return binds(type, loopback, AF_INET);
}

bool asks_routes() {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  return binds(SOCK_RAW, kernel, AF_NETLINK);
}

bool has_socket(int family, int type, int protocol) {
  return static_cast<bool>(UniqueFd(::socket(family, type | SOCK_CLOEXEC, protocol)));
}

bool reads_memory_of(pid_t process) {
  char byte = 0;
  iovec ours{&byte, 1};
  iovec theirs{reinterpret_cast<void*>(1), 1};  // EFAULT: it was let through
  return ::process_vm_readv(process, &ours, 1, &theirs, 1, 0) >= 0 || errno == EFAULT;
}

bool traces(pid_t process) {
  if (::ptrace(PTRACE_SEIZE, process, nullptr, nullptr) != 0) return false;
  return true;  // its end, or ours, lets go of it
}

// To what it is already.
bool keeps_mode(int directory) {
  struct stat info{};
  return ::fstat(directory, &info) == 0 && ::fchmod(directory, info.st_mode & 07777) == 0;
}

bool forks() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child > 0;
}

bool takes_descriptor_of(pid_t process) {
  const UniqueFd at(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  return at &&
         static_cast<bool>(UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, at.get(), 0, 0))));
}

bool listens() {
  const UniqueFd at(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return at && ::listen(at.get(), 1) == 0;
}

}  // namespace

Result<void> probe_outward(const std::string& data, pid_t process, int directory, int readable,
                           const std::function<Result<int>()>& confine) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Error::from_errno(errno, "no_new_privs");
  if (confine) {
    CAY_CHECK(confine());
  }
  ::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string of_process = "/proc/" + std::to_string(process);
  told("open-store", opens(data + "/state.db", O_RDONLY));
  told("open-environment", opens(of_process + "/environ", O_RDONLY));
  told("open-data", opens(data, O_RDONLY | O_DIRECTORY));
  told("write-data", opens(data + "/probe.tmp", O_WRONLY | O_CREAT | O_EXCL));
  ::unlink((data + "/probe.tmp").c_str());
  if (readable >= 0) {
    told("write-rules",
         static_cast<bool>(UniqueFd(
             ::openat(readable, "probe.tmp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600))));
    ::unlinkat(readable, "probe.tmp", 0);
  }
  told("ptrace", traces(process));
  told("process-vm-readv", reads_memory_of(process));
  told("pidfd-getfd", takes_descriptor_of(process));
  told("signal", ::kill(process, 0) == 0);
  told("signal-by-descriptor", signals_by_descriptor(process));
  told("limit", ::prlimit(process, RLIMIT_NOFILE, nullptr, nullptr) == 0);
  told("own-limit", sets_limits());
  told("fork", forks());
  char* const none[] = {nullptr};
  told("execve", ::execve("/nonexistent/program", none, none) == 0 || errno == ENOENT);
  told("mode", ::chmod(data.c_str(), 0700) == 0);
  told("mode-at", ::fchmodat(AT_FDCWD, data.c_str(), 0700, 0) == 0);
  told("mode-of-open", keeps_mode(directory));
  told("mount",
       ::syscall(SYS_mount, "", "", "", 0, nullptr) == 0 || errno == ENOENT || errno == EPERM);
  told("namespace", ::syscall(SYS_unshare, CLONE_NEWUSER) == 0);
  told("socket-unix", has_socket(AF_UNIX, SOCK_STREAM, 0));
  told("socket-netlink-diagnosis", has_socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG));
  told("socket-packet", has_socket(AF_PACKET, SOCK_RAW, 0) ||
                            errno == EPERM);  // as one who may not: it was let through
  told("socket-raw", has_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) || errno == EPERM);
  // Not every kernel has these protocols: without them the answer is of one that was let through.
  told("socket-mptcp", has_socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP) ||
                           errno == EPROTONOSUPPORT || errno == ENOPROTOOPT);
  told("socket-sctp", has_socket(AF_INET6, SOCK_STREAM, IPPROTO_SCTP) || errno == EPROTONOSUPPORT ||
                          errno == EAFNOSUPPORT);
  told("socket-ping", has_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP) || errno == EACCES);
  told("bind-tcp", binds_port(SOCK_STREAM));
  told("bind-udp", binds_port(SOCK_DGRAM));
  told("listen", listens());
  told("memory-file", static_cast<bool>(UniqueFd(::memfd_create("probe", MFD_CLOEXEC))));
  // The things that must still work.
  told("may-open-hosts", opens("/etc/hosts", O_RDONLY));
  told("may-connect", has_socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP) || errno == EAFNOSUPPORT);
  told("may-ask-names", has_socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
  told("may-ask-routes", asks_routes());
  const UniqueFd own(::openat(directory, "probe.tmp", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  told("may-write-its-own", own && ::renameat(directory, "probe.tmp", directory, "probe.new") == 0);
  ::unlinkat(directory, "probe.new", 0);
  return {};
}

}  // namespace cay::gate
