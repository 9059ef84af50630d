#include "gate/confinement.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string>

#include "os/landlock.h"
#include "os/syscall_filter.h"

namespace cay::gate {
namespace {

constexpr std::uint32_t kTypeOfSocket = 0xf;  // the rest are SOCK_CLOEXEC and SOCK_NONBLOCK
static_assert(sizeof(sockaddr_nl) < sizeof(sockaddr_in) && sizeof(sockaddr_nl) < sizeof(sockaddr_in6));
constexpr std::uint32_t kNameMemory = 0x53564d41;  // PR_SET_VMA, which some headers lack

// Everything else is ENOSYS: no program is started, no process made, looked into or signalled, nothing mounted, listened on,
// changed in its owner or mode, or loaded into the kernel.
constexpr auto kCalls = std::to_array<os::AllowedCall>({
    // bytes
    {SYS_splice},
    {SYS_read},
    {SYS_write},
    {SYS_readv},
    {SYS_writev},
    {SYS_recvfrom},
    {SYS_sendto},
    {SYS_recvmsg},
    {SYS_sendmsg},
    {SYS_sendmmsg},  // the C library asks for both families at once
    {SYS_recvmmsg},
    {SYS_pread64},
    {SYS_lseek},
    {SYS_close},
    {SYS_pipe2},
    // Not the others: who owns a descriptor's signals (F_SETOWN, F_SETSIG, O_ASYNC) can have any of them sent to anybody of the same user.
    {SYS_fcntl, {{{1, F_GETFD}}}},
    {SYS_fcntl, {{{1, F_SETFD}}}},
    {SYS_fcntl, {{{1, F_GETFL}}}},  // the C library looks at a directory's before it reads it
    {SYS_fcntl, {{{1, F_SETFL}, {2, 0, O_ASYNC}}}},
    {SYS_fcntl, {{{1, F_DUPFD_CLOEXEC}}}},
    {SYS_fcntl, {{{1, F_SETPIPE_SZ}}}},
    {SYS_dup},
    {SYS_ioctl, {{{1, FIONBIO}}}},
    {SYS_ioctl, {{{1, FIONREAD}}}},
    {SYS_ioctl, {{{1, TIOCOUTQ}}}},  // SIOCOUTQ
    // sockets
    {SYS_accept4},
    // TCP and UDP, by their number or as their type's own (0): the kernel has others of the same types (MPTCP, SCTP, SMC, ICMP, L2TP).
    {SYS_socket, {{{0, AF_INET}, {1, SOCK_STREAM, kTypeOfSocket}, {2, 0}}}},
    {SYS_socket, {{{0, AF_INET}, {1, SOCK_STREAM, kTypeOfSocket}, {2, IPPROTO_TCP}}}},
    {SYS_socket, {{{0, AF_INET}, {1, SOCK_DGRAM, kTypeOfSocket}, {2, 0}}}},
    {SYS_socket, {{{0, AF_INET}, {1, SOCK_DGRAM, kTypeOfSocket}, {2, IPPROTO_UDP}}}},
    {SYS_socket, {{{0, AF_INET6}, {1, SOCK_STREAM, kTypeOfSocket}, {2, 0}}}},
    {SYS_socket, {{{0, AF_INET6}, {1, SOCK_STREAM, kTypeOfSocket}, {2, IPPROTO_TCP}}}},
    {SYS_socket, {{{0, AF_INET6}, {1, SOCK_DGRAM, kTypeOfSocket}, {2, 0}}}},
    {SYS_socket, {{{0, AF_INET6}, {1, SOCK_DGRAM, kTypeOfSocket}, {2, IPPROTO_UDP}}}},
    {SYS_socket, {{{0, AF_NETLINK}, {2, 0}}}},  // routes: which address is the host's own
    {SYS_connect},
    // Of netlink sockets, by the C library. TCP and UDP refuse an address as short as that: none of their ports can be chosen.
    {SYS_bind, {{{2, sizeof(sockaddr_nl)}}}},
    {SYS_shutdown},
    {SYS_getsockopt},
    {SYS_setsockopt, {{{1, SOL_SOCKET}}}},
    {SYS_setsockopt, {{{1, IPPROTO_IP}}}},
    {SYS_setsockopt, {{{1, IPPROTO_IPV6}}}},
    {SYS_setsockopt, {{{1, SOL_NETLINK}}}},
    {SYS_setsockopt, {{{1, IPPROTO_TCP}, {2, TCP_NODELAY}}}},
    {SYS_setsockopt, {{{1, IPPROTO_TCP}, {2, TCP_KEEPIDLE}}}},
    {SYS_getsockname},
    {SYS_getpeername},
    // waits and time
    {SYS_epoll_pwait},
    {SYS_epoll_ctl},
    {SYS_epoll_create1},
    {SYS_eventfd2},
    {SYS_timerfd_create},
    {SYS_timerfd_settime},
    {SYS_ppoll},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait},
    {SYS_poll},
#endif
    {SYS_futex},
    {SYS_clock_gettime},
    {SYS_clock_nanosleep},
    {SYS_nanosleep},
    {SYS_gettimeofday},
    {SYS_restart_syscall},
    {SYS_sched_yield},
    // memory and threads
    {SYS_mmap},
    {SYS_munmap},
    {SYS_mprotect},
    {SYS_mremap},
    {SYS_madvise},
    {SYS_brk},
    {SYS_clone, {{{0, CLONE_THREAD, CLONE_THREAD}}}},
    {SYS_set_robust_list},
    {SYS_rseq},
    {SYS_set_tid_address},
    {SYS_gettid},
    {SYS_getpid},
    {SYS_geteuid},
    {SYS_getegid},
    {SYS_getuid},
    {SYS_getgid},
    {SYS_sched_getaffinity},
    {SYS_sched_getparam},
    {SYS_sched_getscheduler},
    {SYS_prlimit64, {{{0, 0}, os::null_pointer(2)}}},  // its own are asked for, none is set
    {SYS_prctl, {{{0, PR_SET_NAME}}}},
    {SYS_prctl, {{{0, kNameMemory}}}},
    {SYS_rt_sigaction},
    {SYS_rt_sigprocmask},
    {SYS_rt_sigreturn},
    {SYS_sigaltstack},
    {SYS_getrandom},
    {SYS_exit},
    {SYS_exit_group},
    // files: Landlock bounds which
    {SYS_openat},
#ifdef SYS_open
    {SYS_open},
    {SYS_stat},
    {SYS_access},
#endif
    {SYS_fstat},
    {SYS_newfstatat},
    {SYS_statx},
    {SYS_faccessat},
    {SYS_faccessat2},
    {SYS_getdents64},
    {SYS_unlinkat},
    {SYS_renameat},
    {SYS_renameat2},
    {SYS_uname},  // the C library's resolver asks for the host's name
    {SYS_sysinfo},
});
constinit const auto kFilter = os::compile_allow_list(kCalls, SECCOMP_RET_ERRNO | ENOSYS);

// Directories and not files: a file that is renamed into place is another one, which a rule for the old would not let be read.
constexpr const char* kRead[] = {"/etc",  // resolv.conf, hosts, nsswitch.conf, gai.conf, ld.so.cache
                                 "/usr", "/lib", "/lib64",  // what nsswitch.conf names is loaded when it is needed first
                                 "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"};

UniqueFd place(const std::string& path) { return UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC)); }

// Where resolv.conf and hosts are in truth, if they are links.
std::string directory_of(const char* file) {
  char path[PATH_MAX];
  if (::realpath(file, path) == nullptr) return {};
  const std::string found(path);
  return found.substr(0, found.rfind('/'));
}

Result<void> bound_files(int gate_directory, int rules_directory) {
  CAY_TRY(os::Landlock rules, os::Landlock::begin());
  CAY_CHECK(rules.allow_keeping_files(gate_directory));
  if (rules_directory >= 0) { CAY_CHECK(rules.allow_reading(rules_directory)); }
  for (const char* path : kRead) {
    if (const UniqueFd at = place(path)) { CAY_CHECK(rules.allow_reading(at.get())); }
  }
  for (const char* file : {"/etc/resolv.conf", "/etc/hosts"}) {
    const std::string path = directory_of(file);
    if (path.empty()) continue;  // there is none, or it is in the root directory itself
    if (const UniqueFd at = place(path)) { CAY_CHECK(rules.allow_reading(at.get())); }
  }
  return rules.enforce();
}

}  // namespace

Result<int> confine(int gate_directory, int rules_directory) {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const int abi = os::landlock_abi();
  if (abi > 0) { CAY_CHECK(bound_files(gate_directory, rules_directory)); }
  CAY_CHECK(os::load_syscall_filter(kFilter.span()));
  return abi;
}

}  // namespace cay::gate
