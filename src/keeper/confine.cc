// confine(): see confine.h. The order matters and is told at each step.
#include "keeper/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "keeper/file_wall.h"
#include "keeper/seccomp_filter.h"
#include "os/caps.h"

namespace cay::keeper {
namespace {

// The capabilities of root inside. All of them reach only ids, files and the network of its own
// sandbox. Left out above all: SYS_ADMIN, SYS_PTRACE, SYS_RESOURCE, SYS_NICE, NET_ADMIN, NET_RAW,
// MKNOD, SYS_MODULE, SYS_BOOT, SYS_TIME, BPF, PERFMON.
constexpr std::uint64_t bit(int cap) { return os::cap_bit(cap); }
constexpr std::uint64_t kKept =
    bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_FOWNER) |
    bit(CAP_FSETID)                      // root's way with files
    | bit(CAP_SETUID) | bit(CAP_SETGID)  // sudo, su, servers
    | bit(CAP_SETPCAP) |
    bit(CAP_SETFCAP)             // programs that drop capabilities; setcap in package scripts
    | bit(CAP_KILL)              // root ends its users' processes
    | bit(CAP_NET_BIND_SERVICE)  // port 80
    | bit(CAP_SYS_CHROOT)        // sshd, postfix, debootstrap
    | bit(CAP_AUDIT_WRITE);      // sudo and login ask for it; the audit socket itself is refused

// Root lacks these of them in profile strict. dpkg, apt, pip and npm install without
// (tests/kernel/test_profiles.py). KILL and SETUID stay because apt downloads as _apt and ends what
// it started, NET_BIND_SERVICE because a web server is no danger.
constexpr std::uint64_t kNotInStrict =
    bit(CAP_SETPCAP)         // to hand capabilities on: nothing is gained by exec there
    | bit(CAP_SETFCAP)       // a file's capabilities count for nobody under no_new_privs
    | bit(CAP_SYS_CHROOT)    // chroot is refused there
    | bit(CAP_AUDIT_WRITE);  // sudo and login, which gain nothing there

constexpr std::uint64_t kept_in(Profile profile) {
  return profile == Profile::kStrict ? kKept & ~kNotInStrict : kKept;
}

// And a file helper of root's: its way with files alone.
constexpr std::uint64_t kFileWork =
    bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_FOWNER) | bit(CAP_FSETID);
// And one that writes a layer, whose files may have capabilities.
constexpr std::uint64_t kLayerWork = kFileWork | bit(CAP_SETFCAP);

constexpr std::uint64_t kept_by(const Confinement& to) {
  const std::uint64_t of_helper = to.layer_root_fd >= 0 ? kLayerWork : kFileWork;
  return to.file_helper ? of_helper : kept_in(to.profile);
}

struct Limit {
  int resource;
  rlim_t soft, hard;
};
constexpr rlim_t kInherit = RLIM_INFINITY;
constexpr Limit kLimits[] = {
    {RLIMIT_CORE, 1, 1},  // a core would go to the host's core_pattern: at 0 to a program, too; the
                          // filter keeps it at 1
    {RLIMIT_NOFILE, 65536, 65536},  // soft as hard: servers and bundlers need thousands
    {RLIMIT_STACK, 8 << 20,
     kInherit},  // the usual default; an unlimited soft one changes mmap's layout
    {RLIMIT_MEMLOCK, 8 << 20, 8 << 20},  // Linux's default since 5.16
    {RLIMIT_NICE, 0, 0},
    {RLIMIT_RTPRIO, 0, 0},  // no priority above others
    {RLIMIT_MSGQUEUE, 819200, 819200},
    {RLIMIT_NPROC, kInherit, kInherit},  // the pids cgroup is the limit
    {RLIMIT_AS, kInherit, kInherit},
    {RLIMIT_CPU, kInherit, kInherit},
    {RLIMIT_DATA, kInherit, kInherit},
    {RLIMIT_FSIZE, kInherit, kInherit},
    {RLIMIT_LOCKS, kInherit, kInherit},
    {RLIMIT_RSS, kInherit, kInherit},
    {RLIMIT_RTTIME, kInherit, kInherit},
    {RLIMIT_SIGPENDING, kInherit, kInherit},
};

// Raising a hard limit takes privilege over the host, which a keeper has not: the host's own hard
// limits bound ours. (Debian gives 1,048,576 files; some hosts give less.)
bool reset_limits() {
  for (const Limit& limit : kLimits) {
    rlimit now{};
    if (getrlimit(static_cast<__rlimit_resource_t>(limit.resource), &now) != 0) return false;
    rlimit to{};
    to.rlim_max = std::min(limit.hard, now.rlim_max);
    to.rlim_cur = std::min(limit.soft, to.rlim_max);
    if (to.rlim_max == now.rlim_max && to.rlim_cur == now.rlim_cur) continue;
    if (setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &to) != 0) return false;
  }
  return true;
}

// Another process inside may have changed these since the fork. (A better nice than the keeper's is
// not ours to give: under a niced launcher everything runs niced.)
bool reset_scheduling(const Scheduling& to) {
  sched_param none{};
  if (sched_getscheduler(0) != to.policy && sched_setscheduler(0, to.policy, &none) != 0)
    return false;
  errno = 0;
  return getpriority(PRIO_PROCESS, 0) == to.nice || setpriority(PRIO_PROCESS, 0, to.nice) == 0;
}

constexpr unsigned kWordBits = 8 * sizeof(unsigned long);
constexpr unsigned kMostCpus = 8192;  // the kernel's own bound
using CpuMask = unsigned long[kMostCpus / kWordBits];

bool has(const CpuMask& mask, unsigned cpu) {
  return (mask[cpu / kWordBits] >> (cpu % kWordBits) & 1) != 0;
}

// Keeps the first `count` CPUs of the `size` in `allowed` from `first` on, in a circle. False:
// there are no more than these.
bool keep_cpus(const CpuMask& allowed, unsigned size, unsigned first, unsigned count,
               CpuMask& kept) {
  unsigned found = 0;
  for (unsigned i = 0; i < size; ++i) {
    const unsigned cpu = (first + i) % size;
    if (!has(allowed, cpu)) continue;
    if (found++ == count) return true;
    kept[cpu / kWordBits] |= 1UL << (cpu % kWordBits);
  }
  return false;
}

// Programs size themselves by the number of CPUs that they may run on (nproc, Go, Java). The kernel
// puts a new process on the idlest CPU, so the allowed ones begin there. A fixed choice for a
// sandbox could put two busy ones on the same CPU. The affinity is no limit: the group's quota is.
bool reset_affinity(unsigned count) {
  CpuMask all;
  memset(all, 0xff, sizeof all);  // cpusets still bound it
  if (syscall(SYS_sched_setaffinity, 0, sizeof all, all) != 0) return false;
  if (count == 0) return true;
  CpuMask allowed = {}, kept = {};
  unsigned here = 0;
  const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof allowed, allowed);
  if (bytes <= 0 || syscall(SYS_getcpu, &here, nullptr, nullptr) != 0) return false;
  if (!keep_cpus(allowed, static_cast<unsigned>(bytes) * 8, here, count, kept)) return true;
  return syscall(SYS_sched_setaffinity, 0, sizeof kept, kept) == 0;
}

// Dispositions first: a pending signal must meet the default, not a handler of the keeper's.
// By the raw call: the C library hides two signals, and an ignored one would outlive exec.
constexpr int kLastSignal = 64;
struct Disposition {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

bool reset_signals(SignalBits changed) {
  const Disposition dfl{};
  for (int signal = 1; signal <= kLastSignal; ++signal) {
    if ((changed >> (signal - 1) & 1) == 0 || signal == SIGKILL || signal == SIGSTOP) continue;
    if (syscall(SYS_rt_sigaction, signal, &dfl, nullptr, sizeof dfl.mask) != 0) return false;
  }
  std::uint64_t none = 0;
  return syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none) == 0;
}

}  // namespace

Scheduling own_scheduling() {
  Scheduling own;
  const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  if (policy == SCHED_BATCH || policy == SCHED_IDLE) own.policy = policy;
  own.nice = std::max(getpriority(PRIO_PROCESS, 0), 0);
  return own;
}

SignalBits changed_signals() {
  SignalBits out = 0;
  for (int signal = 1; signal <= kLastSignal; ++signal) {
    Disposition now{};
    const bool known = syscall(SYS_rt_sigaction, signal, nullptr, &now, sizeof now.mask) == 0;
    if (!known || now.handler != SIG_DFL) out |= SignalBits{1} << (signal - 1);
  }
  return out;
}

namespace {

// The part that children inherit, and that nothing inside can undo before they are confined.
const char* confine_ahead(const Confinement& to) {
  umask(022);
  if (personality(0xffffffff) != 0 && personality(0) < 0) return "reset personality";
  if (!reset_limits()) return "set limits";
  if (!reset_signals(to.changed_signals)) return "reset signals";
  return os::drop_bounding_set(kept_by(to)) ? nullptr : "drop capabilities";
}

}  // namespace

const char* confine_zygote(const Confinement& to) {
  if (const char* step = confine_ahead(to); step != nullptr) return step;
  return load_guest_filter(to.profile, FilterPart::kAhead) == 0 ? nullptr : "load seccomp";
}

const char* confine(const Confinement& to) {
  if (!to.is_prepared) {
    if (const char* step = confine_ahead(to); step != nullptr) return step;
  }
  if (!reset_scheduling(to.scheduling)) return "reset priority";
  // A helper has one thread, and may wait for long: it does not stay on the CPU where it began.
  if (!reset_affinity(to.file_helper ? 0 : to.cpus)) return "reset affinity";
  const Profile profile = to.file_helper ? Profile::kDefault : to.profile;
  const std::uint64_t kept = kept_by(to);
  const bool no_new_privs = to.file_helper || profile == Profile::kStrict;
  // Raw calls from here: the C library's wrappers change all threads by signals and take locks.
  auto group_count = static_cast<std::size_t>(to.group_count);
  if (syscall(SYS_setgroups, group_count, to.groups) != 0) return "set groups";
  if (syscall(SYS_setresgid, to.gid, to.gid, to.gid) != 0) return "set gid";
  if (no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "set no_new_privs";
  const FilterPart part = to.is_prepared ? FilterPart::kLast : FilterPart::kWhole;
  if (load_guest_filter(profile, part) != 0)
    return "load seccomp";  // without no_new_privs it needs SYS_ADMIN: before setuid
  if (syscall(SYS_setresuid, to.uid, to.uid, to.uid) != 0) return "set uid";
  // Explicitly: the kernel clears the sets on a change away from uid 0, and the keeper's uid is not
  // 0.
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
      !os::set_capabilities(to.uid == 0 ? kept : 0))
    return "set capabilities";
  if (to.file_helper && build_file_wall(to.layer_root_fd) != 0) return "load Landlock";
  return nullptr;
}

}  // namespace cay::keeper
