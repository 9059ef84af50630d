// The confinement that gate, broker and the image process share: they connect outside, resolve
// names, and write in one directory. It keeps the system calls for that, their directory, and read
// access to the C library's resolver files.
#pragma once
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "base/result.h"
#include "os/syscall_filter.h"

namespace cay::os {

inline constexpr std::uint32_t kTypeOfSocket = 0xf;  // the rest are SOCK_CLOEXEC and SOCK_NONBLOCK
static_assert(sizeof(sockaddr_nl) < sizeof(sockaddr_in) &&
              sizeof(sockaddr_nl) < sizeof(sockaddr_in6));
inline constexpr std::uint32_t kNameMemory = 0x53564d41;  // PR_SET_VMA, which some headers lack

// Everything else is ENOSYS. The process can start no program or process, and trace or signal none.
// It can mount nothing, listen nowhere, change no owner or mode, and load nothing into the kernel.
inline constexpr auto kOutwardCalls = std::to_array<AllowedCall>({
    // bytes
    {SYS_read},
    {SYS_write},
    {SYS_readv},
    {SYS_writev},
    {SYS_recvfrom},
    {SYS_sendto},
    {SYS_recvmsg},
    {SYS_sendmsg},
    {SYS_sendmmsg},  // the C library looks up both families at once
    {SYS_recvmmsg},
    {SYS_pread64},
    {SYS_lseek},
    {SYS_close},
    // Not the others: who owns a descriptor's signals (F_SETOWN, F_SETSIG, O_ASYNC) can have any of
    // them sent to anybody of the same user.
    {SYS_fcntl, {{{1, F_GETFD}}}},
    {SYS_fcntl, {{{1, F_SETFD}}}},
    {SYS_fcntl, {{{1, F_GETFL}}}},  // the C library looks at a directory's before it reads it
    {SYS_fcntl, {{{1, F_SETFL}, {2, 0, O_ASYNC}}}},
    {SYS_fcntl, {{{1, F_DUPFD_CLOEXEC}}}},
    {SYS_dup},
    {SYS_ioctl, {{{1, FIONBIO}}}},
    {SYS_ioctl, {{{1, FIONREAD}}}},
    {SYS_ioctl, {{{1, TIOCOUTQ}}}},  // SIOCOUTQ
    // sockets
    {SYS_accept4},
    // TCP and UDP, by their number or as their type's own (0): the kernel has others of the same
    // types (MPTCP, SCTP, SMC, ICMP, L2TP).
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
    // For the C library's netlink sockets. TCP and UDP reject so short an address, so no port can
    // be chosen.
    {SYS_bind, {{{2, sizeof(sockaddr_nl)}}}},
    {SYS_shutdown},
    {SYS_getsockopt},
    {SYS_setsockopt, {{{1, SOL_SOCKET}}}},
    {SYS_setsockopt, {{{1, IPPROTO_IP}}}},
    {SYS_setsockopt, {{{1, IPPROTO_IPV6}}}},
    {SYS_setsockopt, {{{1, SOL_NETLINK}}}},
    {SYS_setsockopt, {{{1, IPPROTO_TCP}, {2, TCP_NODELAY}}}},
    {SYS_setsockopt, {{{1, IPPROTO_TCP}, {2, TCP_KEEPIDLE}}}},
    {SYS_setsockopt, {{{1, IPPROTO_TCP}, {2, TCP_KEEPINTVL}}}},  // http::RawStream, as the next
    {SYS_setsockopt, {{{1, IPPROTO_TCP}, {2, TCP_KEEPCNT}}}},
    {SYS_getsockname},
    {SYS_getpeername},
    // waits and time
    {SYS_epoll_pwait},
    {SYS_epoll_ctl},
    {SYS_epoll_create1},
    {SYS_eventfd2},
    {SYS_timerfd_create},
    {SYS_timerfd_settime},
    {SYS_timer_create},  // base/bounded_call.h
    {SYS_timer_settime},
    {SYS_timer_delete},
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
    {SYS_prlimit64, {{{0, 0}, null_pointer(2)}}},  // reads its own limits, sets none
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
    {SYS_uname},  // the C library's resolver reads the host's name
    {SYS_sysinfo},
});

// `own` first: the kernel looks through them in this order.
template <std::size_t N>
constexpr auto with_outward_calls(const std::array<AllowedCall, N>& own) {
  std::array<AllowedCall, N + kOutwardCalls.size()> all{};
  std::ranges::copy(kOutwardCalls, std::ranges::copy(own, all.begin()).out);
  return all;
}

// For a process with one thread and no_new_privs. It may write in `directory`, read in `readable`
// (-1: none) and the resolver's files, and make the calls that `calls` allows. Returns Landlock's
// version, or 0 if the kernel has none: then only the call filter confines it.
Result<int> confine_outward(FilterSpan calls, int directory, int readable = -1);

}  // namespace cay::os
