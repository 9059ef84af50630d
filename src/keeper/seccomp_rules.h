// The system calls that a guest may make, as data: one line per call, with its users. At most 250
// names, which a test holds. A call without a line is answered ENOSYS, as an older kernel would, so
// that C libraries fall back. These are profile `default`'s, and seccomp_profiles.h has the changes
// of the others. docs/decisions/0004-seccomp.md has the reasons.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace cay::keeper {

enum class Action : std::uint8_t {
  kAllow,
  kEperm,   // a known call that belongs to the host
  kEnosys,  // and all without a line
  // allowed for some arguments: the checks are in seccomp_compile.h
  kClone,
  kCloneNested,
  kIoctl,
  kMadvise,
  kMemfd,
  kMmap,
  kPersonality,
  kPersonalityAsk,
  kPrctl,
  kPrctlNested,  // kPrctl, and filters of system calls
  kPrlimit,
  kSeccomp,
  kSetrlimit,
  kSetsockopt,
  kShmget,
  kSocket,
  kSocketpair,
};

constexpr bool is_reachable(Action action) {
  return action != Action::kEperm && action != Action::kEnosys;
}

struct SyscallRule {
  std::string_view name;
  int x86_64;  // number there; -1: no such call
  int arm64;
  Action action;
};

// Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h. They never
// change; confine_test compares them with libseccomp's tables.
inline constexpr auto kGuestRules = [] {
  using enum Action;
  // clang-format off
  return std::to_array<SyscallRule>({
      // ---- files and descriptors ----
      {"read", 0, 63, kAllow},  // every program
      {"write", 1, 64, kAllow},  // every program
      {"open", 2, -1, kAllow},  // every program
      {"openat", 257, 56, kAllow},  // every program
      {"close", 3, 57, kAllow},  // every program
      {"lseek", 8, 62, kAllow},  // every program
      {"openat2", 437, 437, kAllow},  // tar from GNU 1.35 on, crun, Rust's cap-std
      {"close_range", 436, 436, kAllow},  // glibc posix_spawn, Python subprocess
      {"creat", 85, -1, kAllow},  // dpkg-deb; old static programs
      {"pread64", 17, 67, kAllow},  // every language's file layer
      {"pwrite64", 18, 68, kAllow},  // every language's file layer
      {"readv", 19, 65, kAllow},  // every language's file layer
      {"writev", 20, 66, kAllow},  // every language's file layer
      {"preadv", 295, 69, kAllow},  // databases, libuv
      {"pwritev", 296, 70, kAllow},  // databases, libuv
      {"preadv2", 327, 286, kAllow},  // databases, libuv
      {"pwritev2", 328, 287, kAllow},  // databases, libuv
      {"stat", 4, -1, kAllow},  // every program
      {"fstat", 5, 80, kAllow},  // every program
      {"lstat", 6, -1, kAllow},  // every program
      {"newfstatat", 262, 79, kAllow},  // every program
      {"statx", 332, 291, kAllow},  // every program
      {"access", 21, -1, kAllow},  // the dynamic loader, shells
      {"faccessat", 269, 48, kAllow},  // the dynamic loader, shells
      {"faccessat2", 439, 439, kAllow},  // the dynamic loader, shells
      {"dup", 32, 23, kAllow},  // shells
      {"dup2", 33, -1, kAllow},  // shells
      {"dup3", 292, 24, kAllow},  // shells
      {"pipe", 22, -1, kAllow},  // shells
      {"pipe2", 293, 59, kAllow},  // shells
      {"fcntl", 72, 25, kAllow},  // dpkg, sqlite, git
      {"flock", 73, 32, kAllow},  // dpkg, sqlite, git
      {"fsync", 74, 82, kAllow},  // dpkg, databases
      {"fdatasync", 75, 83, kAllow},  // dpkg, databases
      {"sync", 162, 81, kAllow},  // dpkg, databases
      {"syncfs", 306, 267, kAllow},  // dpkg, databases
      {"sync_file_range", 277, 84, kAllow},  // dpkg, databases
      {"truncate", 76, 45, kAllow},  // databases, ld
      {"ftruncate", 77, 46, kAllow},  // databases, ld
      {"fallocate", 285, 47, kAllow},  // databases, ld
      {"getdents64", 217, 61, kAllow},  // every program
      // AddressSanitizer and LeakSanitizer on x86-64: /proc/PID/task at every end
      {"getdents", 78, -1, kAllow},
      {"getcwd", 79, 17, kAllow},  // every program
      {"chdir", 80, 49, kAllow},  // every program
      {"fchdir", 81, 50, kAllow},  // every program
      {"rename", 82, -1, kAllow},  // every editor and installer
      {"renameat", 264, 38, kAllow},  // every editor and installer
      {"renameat2", 316, 276, kAllow},  // every editor and installer
      {"mkdir", 83, -1, kAllow},  // every installer
      {"mkdirat", 258, 34, kAllow},  // every installer
      {"rmdir", 84, -1, kAllow},  // every installer
      {"link", 86, -1, kAllow},  // every installer
      {"linkat", 265, 37, kAllow},  // every installer
      {"unlink", 87, -1, kAllow},  // every installer
      {"unlinkat", 263, 35, kAllow},  // every installer
      {"symlink", 88, -1, kAllow},  // every installer
      {"symlinkat", 266, 36, kAllow},  // every installer
      {"readlink", 89, -1, kAllow},  // every installer
      {"readlinkat", 267, 78, kAllow},  // every installer
      {"chmod", 90, -1, kAllow},  // tar, dpkg
      {"fchmod", 91, 52, kAllow},  // tar, dpkg
      {"fchmodat", 268, 53, kAllow},  // tar, dpkg
      {"fchmodat2", 452, 452, kAllow},  // glibc from 2.39 on
      {"chown", 92, -1, kAllow},  // tar, dpkg
      {"fchown", 93, 55, kAllow},  // tar, dpkg
      {"lchown", 94, -1, kAllow},  // tar, dpkg
      {"fchownat", 260, 54, kAllow},  // tar, dpkg
      {"umask", 95, 166, kAllow},  // tar, dpkg
      {"utimensat", 280, 88, kAllow},  // touch, tar, make
      // mkfifo; device nodes are refused by the kernel in a user namespace
      {"mknod", 133, -1, kAllow},
      {"mknodat", 259, 33, kAllow},  // the same
      {"statfs", 137, 43, kAllow},  // df, apt
      {"fstatfs", 138, 44, kAllow},  // df, apt
      {"sendfile", 40, 71, kAllow},  // cp, web servers, Go's io.Copy
      {"copy_file_range", 326, 285, kAllow},  // cp, web servers, Go's io.Copy
      {"splice", 275, 76, kAllow},  // cp, web servers, Go's io.Copy
      {"fadvise64", 221, 223, kAllow},  // coreutils, databases
      // terminals (all but TIOCSTI, TIOCLINUX, TIOCSETD), and no bridges or VLANs
      {"ioctl", 16, 29, kIoctl},
      {"setxattr", 188, 5, kAllow},  // tar, cp -a, setcap, rsync
      {"lsetxattr", 189, 6, kAllow},  // tar, cp -a, setcap, rsync
      {"fsetxattr", 190, 7, kAllow},  // tar, cp -a, setcap, rsync
      {"getxattr", 191, 8, kAllow},  // tar, cp -a, setcap, rsync
      {"lgetxattr", 192, 9, kAllow},  // tar, cp -a, setcap, rsync
      {"fgetxattr", 193, 10, kAllow},  // tar, cp -a, setcap, rsync
      {"listxattr", 194, 11, kAllow},  // tar, cp -a, setcap, rsync
      {"llistxattr", 195, 12, kAllow},  // tar, cp -a, setcap, rsync
      {"flistxattr", 196, 13, kAllow},  // tar, cp -a, setcap, rsync
      {"removexattr", 197, 14, kAllow},  // tar, cp -a, setcap, rsync
      {"lremovexattr", 198, 15, kAllow},  // tar, cp -a, setcap, rsync
      {"fremovexattr", 199, 16, kAllow},  // tar, cp -a, setcap, rsync
      // tail -f, gpg-agent, dbus, Java: glibc's function of that name
      {"inotify_init", 253, -1, kAllow},
      {"inotify_init1", 294, 26, kAllow},  // file watchers (vite, webpack)
      {"inotify_add_watch", 254, 27, kAllow},  // both
      {"inotify_rm_watch", 255, 28, kAllow},  // both
      {"memfd_create", 319, 279, kMemfd},  // Wayland, JITs, Python multiprocessing (no MFD_HUGETLB)
      // sshd and postfix privilege separation, debootstrap; needs CAP_SYS_CHROOT
      {"chroot", 161, 51, kAllow},
      // ---- memory ----
      // every program (no MAP_HUGETLB: the host's pool of huge pages is counted for nobody)
      {"mmap", 9, 222, kMmap},
      {"munmap", 11, 215, kAllow},  // every program
      {"mprotect", 10, 226, kAllow},  // every program
      {"brk", 12, 214, kAllow},  // every program
      {"mremap", 25, 216, kAllow},  // every program
      {"msync", 26, 227, kAllow},  // databases, allocators, old Go runtimes
      {"madvise", 28, 233, kMadvise},  // databases, allocators, old Go runtimes (no MADV_MERGEABLE)
      {"mincore", 27, 232, kAllow},  // databases, allocators, old Go runtimes
      {"mlock", 149, 228, kAllow},  // gpg, ssh-agent; bounded by RLIMIT_MEMLOCK
      {"munlock", 150, 229, kAllow},  // gpg, ssh-agent; bounded by RLIMIT_MEMLOCK
      {"mlockall", 151, 230, kAllow},  // gpg, ssh-agent; bounded by RLIMIT_MEMLOCK
      {"munlockall", 152, 231, kAllow},  // gpg, ssh-agent; bounded by RLIMIT_MEMLOCK
      {"membarrier", 324, 283, kAllow},  // .NET, Java, userspace RCU
      // ---- processes ----
      {"clone", 56, 220, kClone},  // fork, threads (no namespaces, no CLONE_PARENT)
      {"fork", 57, -1, kAllow},  // shells
      {"vfork", 58, -1, kAllow},  // shells
      {"execve", 59, 221, kAllow},  // shells
      {"execveat", 322, 281, kAllow},  // shells
      {"exit", 60, 93, kAllow},  // shells
      {"exit_group", 231, 94, kAllow},  // shells
      {"wait4", 61, 260, kAllow},  // shells
      {"waitid", 247, 95, kAllow},  // shells
      {"kill", 62, 129, kAllow},  // shells, pthread_kill, sigqueue
      {"tkill", 200, 130, kAllow},  // shells, pthread_kill, sigqueue
      {"tgkill", 234, 131, kAllow},  // shells, pthread_kill, sigqueue
      {"rt_sigqueueinfo", 129, 138, kAllow},  // shells, pthread_kill, sigqueue
      {"pidfd_open", 434, 434, kAllow},  // Python asyncio, systemd libraries, Go's os.Process
      // Python asyncio, systemd libraries, Go's os.Process
      {"pidfd_send_signal", 424, 424, kAllow},
      {"getpid", 39, 172, kAllow},  // shells, job control
      {"getppid", 110, 173, kAllow},  // shells, job control
      {"gettid", 186, 178, kAllow},  // shells, job control
      {"getpgid", 121, 155, kAllow},  // shells, job control
      {"getpgrp", 111, -1, kAllow},  // shells, job control
      {"setpgid", 109, 154, kAllow},  // shells, job control
      {"getsid", 124, 156, kAllow},  // shells, job control
      {"setsid", 112, 157, kAllow},  // shells, job control
      // gdb, strace; the kernel's check keeps it to the caller's own processes
      {"ptrace", 101, 117, kAllow},
      {"process_vm_readv", 310, 270, kAllow},  // strace, py-spy, MPI; same check as ptrace
      {"process_vm_writev", 311, 271, kAllow},  // strace, MPI; same check as ptrace
      // names, death signals, subreapers (a list of options; no PR_SET_SECCOMP with a filter)
      {"prctl", 157, 167, kPrctl},
      {"arch_prctl", 158, -1, kAllow},  // thread-local storage at program start (x86-64)
      {"set_tid_address", 218, 96, kAllow},  // glibc and musl threads
      {"set_robust_list", 273, 99, kAllow},  // glibc and musl threads
      {"rseq", 334, 293, kAllow},  // glibc and musl threads
      {"futex", 202, 98, kAllow},  // glibc and musl threads
      {"personality", 135, 92, kPersonality},  // gdb (no randomisation), setarch; a list of values
      // libseccomp queries it (no filters: each takes of the whole host's room for compiled ones)
      {"seccomp", 317, 277, kSeccomp},
      // programs that sandbox themselves: coding agents, xz
      {"landlock_create_ruleset", 444, 444, kAllow},
      {"landlock_add_rule", 445, 445, kAllow},  // the same
      {"landlock_restrict_self", 446, 446, kAllow},  // the same
      // ---- signals ----
      {"rt_sigaction", 13, 134, kAllow},  // every program
      {"rt_sigprocmask", 14, 135, kAllow},  // every program
      {"rt_sigreturn", 15, 139, kAllow},  // every program
      {"rt_sigpending", 127, 136, kAllow},  // every program
      {"rt_sigsuspend", 130, 133, kAllow},  // every program
      {"rt_sigtimedwait", 128, 137, kAllow},  // every program
      {"sigaltstack", 131, 132, kAllow},  // every program
      {"signalfd4", 289, 74, kAllow},  // every program
      {"pause", 34, -1, kAllow},  // every program
      {"alarm", 37, -1, kAllow},  // every program
      {"restart_syscall", 219, 128, kAllow},  // every program
      // ---- identity ----
      {"getuid", 102, 174, kAllow},  // every program
      {"geteuid", 107, 175, kAllow},  // every program
      {"getgid", 104, 176, kAllow},  // every program
      {"getegid", 108, 177, kAllow},  // every program
      {"getresuid", 118, 148, kAllow},  // every program
      {"getresgid", 120, 150, kAllow},  // every program
      {"getgroups", 115, 158, kAllow},  // every program
      // sudo, su, servers that drop root; only ids of this sandbox exist
      {"setuid", 105, 146, kAllow},
      {"setgid", 106, 144, kAllow},  // the same
      {"setreuid", 113, 145, kAllow},  // the same
      {"setregid", 114, 143, kAllow},  // the same
      {"setresuid", 117, 147, kAllow},  // the same
      {"setresgid", 119, 149, kAllow},  // the same
      {"setgroups", 116, 159, kAllow},  // the same
      {"setfsuid", 122, 151, kAllow},  // the same
      {"setfsgid", 123, 152, kAllow},  // the same
      {"capget", 125, 90, kAllow},  // servers that drop root; never above the bounding set
      {"capset", 126, 91, kAllow},  // servers that drop root; never above the bounding set
      // ---- scheduling and limits ----
      {"sched_yield", 24, 124, kAllow},  // nproc, thread pools, taskset
      {"sched_getaffinity", 204, 123, kAllow},  // nproc, thread pools, taskset
      {"sched_setaffinity", 203, 122, kAllow},  // nproc, thread pools, taskset
      {"sched_getparam", 143, 121, kAllow},  // pthread attributes, chrt
      {"sched_getscheduler", 145, 120, kAllow},  // pthread attributes, chrt
      {"sched_setscheduler", 144, 119, kAllow},  // pthread attributes, chrt
      {"sched_get_priority_max", 146, 125, kAllow},  // pthread attributes, chrt
      {"sched_get_priority_min", 147, 126, kAllow},  // pthread attributes, chrt
      {"getpriority", 140, 141, kAllow},  // nice
      {"setpriority", 141, 140, kAllow},  // nice
      // shells, time; limits cannot be raised without host privilege
      {"getrlimit", 97, 163, kAllow},
      {"setrlimit", 160, 164, kSetrlimit},  // the same
      {"prlimit64", 302, 261, kPrlimit},  // the same
      {"getrusage", 98, 165, kAllow},  // the same
      {"times", 100, 153, kAllow},  // the same
      {"getcpu", 309, 168, kAllow},  // the same
      // ---- time ----
      {"nanosleep", 35, 101, kAllow},  // every program
      {"clock_nanosleep", 230, 115, kAllow},  // every program
      {"clock_gettime", 228, 113, kAllow},  // every program
      {"clock_getres", 229, 114, kAllow},  // every program
      {"gettimeofday", 96, 169, kAllow},  // every program
      {"time", 201, -1, kAllow},  // Valgrind, whose programs have no vdso; old static programs
      {"getitimer", 36, 102, kAllow},  // timeout(1), profilers
      {"setitimer", 38, 103, kAllow},  // timeout(1), profilers
      {"timer_create", 222, 107, kAllow},  // timeout(1), profilers
      {"timer_settime", 223, 110, kAllow},  // timeout(1), profilers
      {"timer_gettime", 224, 108, kAllow},  // timeout(1), profilers
      {"timer_getoverrun", 225, 109, kAllow},  // cyclictest
      {"timer_delete", 226, 111, kAllow},  // timeout(1), profilers
      {"timerfd_create", 283, 85, kAllow},  // event loops
      {"timerfd_settime", 286, 86, kAllow},  // event loops
      {"timerfd_gettime", 287, 87, kAllow},  // Python from 3.13 on
      // ---- sockets ----
      {"socket", 41, 198, kSocket},  // UNIX, INET, INET6 and route netlink only, none of them raw
      {"socketpair", 53, 199, kSocketpair},  // UNIX only
      {"bind", 49, 200, kAllow},  // every server and client
      {"listen", 50, 201, kAllow},  // every server and client
      {"accept", 43, 202, kAllow},  // every server and client
      {"accept4", 288, 242, kAllow},  // every server and client
      {"connect", 42, 203, kAllow},  // every server and client
      {"getsockname", 51, 204, kAllow},  // every server and client
      {"getpeername", 52, 205, kAllow},  // every server and client
      {"shutdown", 48, 210, kAllow},  // every server and client
      // every server and client (no TCP_ULP, no socket filters)
      {"setsockopt", 54, 208, kSetsockopt},
      {"getsockopt", 55, 209, kAllow},  // every server and client
      {"sendto", 44, 206, kAllow},  // every server and client
      {"recvfrom", 45, 207, kAllow},  // every server and client
      {"sendmsg", 46, 211, kAllow},  // every server and client
      {"recvmsg", 47, 212, kAllow},  // every server and client
      {"sendmmsg", 307, 269, kAllow},  // every server and client
      {"recvmmsg", 299, 243, kAllow},  // every server and client
      // ---- waiting ----
      {"poll", 7, -1, kAllow},  // event loops
      {"ppoll", 271, 73, kAllow},  // event loops
      {"select", 23, -1, kAllow},  // event loops
      {"pselect6", 270, 72, kAllow},  // event loops
      {"epoll_create", 213, -1, kAllow},  // Redis; programs built long ago
      {"epoll_create1", 291, 20, kAllow},  // event loops
      {"epoll_ctl", 233, 21, kAllow},  // event loops
      {"epoll_wait", 232, -1, kAllow},  // event loops
      {"epoll_pwait", 281, 22, kAllow},  // event loops
      {"eventfd2", 290, 19, kAllow},  // event loops
      // ---- System V shared memory, semaphores, queues ----
      {"shmget", 29, 194, kShmget},  // PostgreSQL, X11 (no SHM_HUGETLB)
      {"shmat", 30, 196, kAllow},  // PostgreSQL, X11
      {"shmdt", 67, 197, kAllow},  // PostgreSQL, X11
      {"shmctl", 31, 195, kAllow},  // PostgreSQL, X11
      {"semget", 64, 190, kAllow},  // PostgreSQL, X11
      {"semop", 65, 193, kAllow},  // the same of musl
      {"semctl", 66, 191, kAllow},  // PostgreSQL, X11
      {"semtimedop", 220, 192, kAllow},  // glibc's semop(): fakeroot
      {"msgget", 68, 186, kAllow},  // fakeroot
      {"msgsnd", 69, 189, kAllow},  // fakeroot
      {"msgrcv", 70, 188, kAllow},  // fakeroot
      {"msgctl", 71, 187, kAllow},  // fakeroot
      // ---- the machine ----
      {"uname", 63, 160, kAllow},  // every program
      {"sysinfo", 99, 179, kAllow},  // every program
      {"getrandom", 318, 278, kAllow},  // every program
      // ---- refused: the call belongs to the host (EPERM, as without privilege) ----
      {"unshare", 272, 97, kEperm},  // new user namespaces reach the kernel's privileged paths
      {"setns", 308, 268, kEperm},  // new user namespaces reach the kernel's privileged paths
      {"mount", 165, 40, kEperm},  // the sandbox's mounts are fixed
      {"umount2", 166, 39, kEperm},  // the sandbox's mounts are fixed
      {"pivot_root", 155, 41, kEperm},  // the sandbox's mounts are fixed
      {"open_tree", 428, 428, kEperm},  // the same by the new mount API
      {"move_mount", 429, 429, kEperm},  // the same by the new mount API
      {"fsopen", 430, 430, kEperm},  // the same by the new mount API
      {"fsconfig", 431, 431, kEperm},  // the same by the new mount API
      {"fsmount", 432, 432, kEperm},  // the same by the new mount API
      {"fspick", 433, 433, kEperm},  // the same by the new mount API
      {"mount_setattr", 442, 442, kEperm},  // the same by the new mount API
      {"open_tree_attr", 467, 467, kEperm},  // the same by the new mount API
      {"statmount", 457, 457, kEperm},  // not needed by programs; /proc/self/mountinfo has the same
      {"listmount", 458, 458, kEperm},  // not needed by programs; /proc/self/mountinfo has the same
      {"bpf", 321, 280, kEperm},  // large kernel attack surface
      {"perf_event_open", 298, 241, kEperm},  // large kernel attack surface
      {"io_uring_setup", 425, 425, kEperm},  // bypasses this filter; large attack surface
      {"io_uring_enter", 426, 426, kEperm},  // bypasses this filter; large attack surface
      {"io_uring_register", 427, 427, kEperm},  // bypasses this filter; large attack surface
      {"userfaultfd", 323, 282, kEperm},  // widens kernel races
      {"keyctl", 250, 219, kEperm},  // keyrings are not in a namespace
      {"add_key", 248, 217, kEperm},  // keyrings are not in a namespace
      {"request_key", 249, 218, kEperm},  // keyrings are not in a namespace
      {"init_module", 175, 105, kEperm},  // kernel modules
      {"finit_module", 313, 273, kEperm},  // kernel modules
      {"delete_module", 176, 106, kEperm},  // kernel modules
      {"create_module", 174, -1, kEperm},  // kernel modules
      {"query_module", 178, -1, kEperm},  // kernel modules
      {"get_kernel_syms", 177, -1, kEperm},  // kernel modules
      {"kexec_load", 246, 104, kEperm},  // the host's power
      {"kexec_file_load", 320, 294, kEperm},  // the host's power
      {"reboot", 169, 142, kEperm},  // the host's power
      {"swapon", 167, 224, kEperm},  // the host's disks
      {"swapoff", 168, 225, kEperm},  // the host's disks
      {"acct", 163, 89, kEperm},  // the host's disks
      {"quotactl", 179, 60, kEperm},  // the host's disks
      {"quotactl_fd", 443, 443, kEperm},  // the host's disks
      {"nfsservctl", 180, 42, kEperm},  // the host's disks
      {"settimeofday", 164, 170, kEperm},  // the host's clock
      {"clock_settime", 227, 112, kEperm},  // the host's clock
      {"adjtimex", 159, 171, kEperm},  // the host's clock
      {"clock_adjtime", 305, 266, kEperm},  // the host's clock
      {"sethostname", 170, 161, kEperm},  // set when the sandbox is made
      {"setdomainname", 171, 162, kEperm},  // set when the sandbox is made
      {"syslog", 103, 116, kEperm},  // the host's kernel log
      // sets real-time priorities, of which there are none inside
      {"sched_setparam", 142, 118, kEperm},
      {"iopl", 172, -1, kEperm},  // hardware
      {"ioperm", 173, -1, kEperm},  // hardware
      {"modify_ldt", 154, -1, kEperm},  // 16-bit segments; only old emulators
      {"vhangup", 153, 58, kEperm},  // the terminal belongs to its session
      {"lookup_dcookie", 212, 18, kEperm},  // obsolete
      {"uselib", 134, -1, kEperm},  // obsolete
      {"ustat", 136, -1, kEperm},  // obsolete
      {"sysfs", 139, -1, kEperm},  // obsolete
      {"_sysctl", 156, -1, kEperm},  // obsolete
      {"name_to_handle_at", 303, 264, kEperm},  // handles name files outside every mount
      {"open_by_handle_at", 304, 265, kEperm},  // handles name files outside every mount
      {"fanotify_init", 300, 262, kEperm},  // watches whole file systems
      {"fanotify_mark", 301, 263, kEperm},  // watches whole file systems
      {"kcmp", 312, 272, kEperm},  // reach into other processes
      {"pidfd_getfd", 438, 438, kEperm},  // reach into other processes
      {"process_madvise", 440, 440, kEperm},  // act on other processes' memory
      {"process_mrelease", 448, 448, kEperm},  // act on other processes' memory
      // the host's memory layout; libnuma takes EPERM as "no NUMA"
      {"move_pages", 279, 239, kEperm},
      {"migrate_pages", 256, 238, kEperm},  // the same
      {"mbind", 237, 235, kEperm},  // the same
      {"set_mempolicy", 238, 237, kEperm},  // the same
      {"get_mempolicy", 239, 236, kEperm},  // the same
      {"set_mempolicy_home_node", 450, 450, kEperm},  // the same
      {"memfd_secret", 447, 447, kEperm},  // memory that nothing can account or dump
      {"vmsplice", 278, 75, kEperm},  // pages shared with the kernel's pipes; history of escapes
      {"map_shadow_stack", 453, 453, kEperm},  // set up by the kernel at exec where it is used
      {"lsm_get_self_attr", 459, 459, kEperm},  // the host's security modules
      {"lsm_set_self_attr", 460, 460, kEperm},  // the host's security modules
      {"lsm_list_modules", 461, 461, kEperm},  // the host's security modules
      // ---- answered as unknown, so that C libraries fall back ----
      // flags behind a pointer, which a filter cannot read: glibc falls back to clone
      {"clone3", 435, 435, kEnosys},
  });
  // clang-format on
}();

}  // namespace cay::keeper
