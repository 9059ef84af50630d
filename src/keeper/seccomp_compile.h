// Compiles SyscallRules to a classic BPF program at compile time: a binary search over the call
// numbers, then the argument checks. Pure; the tables of both architectures can be tested anywhere.
//
// When it loads such a program, the kernel runs it once for each number and remembers those that
// are allowed whatever their arguments (SECCOMP_CACHE, 5.11). So the shape matters for the checked
// calls only.
#pragma once
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "keeper/seccomp_rules.h"

namespace cay::keeper {

enum class Arch : std::uint8_t { kX86_64, kArm64 };

constexpr std::uint32_t audit_arch(Arch arch) {
  return arch == Arch::kX86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64;
}

struct FilterProgram {
  std::array<sock_filter, 1024> code{};
  std::uint16_t length = 0;
};

namespace seccomp_detail {

constexpr std::uint32_t kAllowed = SECCOMP_RET_ALLOW;
constexpr std::uint32_t refuse(int err) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(err);
}

// Offsets in struct seccomp_data. Both architectures are little-endian and the kernel takes every
// argument checked here as a 32-bit int, so the low word is the whole truth.
constexpr std::uint32_t kOffNr = 0, kOffArch = 4;
constexpr std::uint32_t off_arg(unsigned i) { return 16 + 8 * i; }

// Values of headers that clash with the C library's, or that are newer than some.
constexpr std::uint32_t kCloneParent = 0x8000;      // the child would be the keeper's, outside
constexpr std::uint32_t kCloneRefused = 0x7E020000  // CLONE_NEW*
                                        | kCloneParent;
constexpr std::uint32_t kTiocsti = 0x5412,
                        kTioclinux = 0x541C;  // type into a terminal that others read
constexpr std::uint32_t kTiocsetd = 0x5423;   // line disciplines: kernel modules are loaded for it
// For bridges and VLANs. The kernel loads modules for these, too, before it checks any capability
// (net/socket.c).
constexpr std::uint32_t kSiocgifbr = 0x8940, kSiocsifbr = 0x8941, kSiocgifvlan = 0x8982,
                        kSiocsifvlan = 0x8983;
constexpr std::uint32_t kSiocbraddbr = 0x89A0, kSiocbrdelbr = 0x89A1, kSiocbraddif = 0x89A2,
                        kSiocbrdelif = 0x89A3;
constexpr std::uint32_t kMadvMergeable =
    12;  // merged pages reveal each other's memory, as PR_SET_MEMORY_MERGE
constexpr std::uint32_t kRlimitCore = 4;  // confine.cc: at 1 the kernel hands no core to a program
                                          // of the host's, at 0 it does (core(5))
constexpr std::uint32_t kSolTcp = 6, kTcpUlp = 31;  // kernel TLS
// TCP_AO_ADD_KEY to TCP_AO_GET_KEYS (Linux 6.7): a key names an algorithm, which the kernel loads.
constexpr std::uint32_t kTcpAoAddKey = 38, kTcpAoDelKey = 39, kTcpAoInfo = 40, kTcpAoGetKeys = 41;
constexpr std::uint32_t kSolSocket = 1;
// Programs in the kernel, in memory that no group's limit counts, and compiled within a room that
// is the whole host's (bpf_jit_limit).
constexpr std::uint32_t kSocketFilters[] = {
    26, 50,  // SO_ATTACH_FILTER, SO_ATTACH_BPF: libpcap filters for itself then
    44,      // SO_LOCK_FILTER
    51, 52,  // SO_ATTACH_REUSEPORT_CBPF, _EBPF
};
constexpr std::uint32_t kSetModeFilter = 1;                   // of seccomp(2)
constexpr std::uint32_t kPrSetSeccomp = 22, kModeFilter = 2;  // of prctl(2)
constexpr std::uint32_t kMapHugetlb = 0x40000, kMfdHugetlb = 0x4, kShmHugetlb = 0x800;
constexpr std::uint32_t kPersonalities[] = {
    0x0000000,  0x0000008,  // PER_LINUX, PER_LINUX32 (setarch)
    0x0020000,  0x0020008,  // UNAME26 with either
    0x0040000,              // ADDR_NO_RANDOMIZE (gdb)
    0xffffffff,             // query
};
constexpr std::uint32_t kAskPersonality = 0xffffffff;
constexpr std::uint32_t kPrctls[] = {
    1,          2,       // SET, GET_PDEATHSIG
    3,          4,       // GET, SET_DUMPABLE
    7,          8,       // GET, SET_KEEPCAPS
    15,         16,      // SET, GET_NAME
    21,         22,      // GET, SET_SECCOMP: programs that sandbox themselves
    23,         24,      // CAPBSET_READ, DROP
    25,         26,      // GET, SET_TSC
    27,         28,      // GET, SET_SECUREBITS: setpriv, capsh
    29,         30,      // SET, GET_TIMERSLACK
    36,         37,      // SET, GET_CHILD_SUBREAPER: tini, dumb-init
    38,         39,      // SET, GET_NO_NEW_PRIVS
    40,                  // GET_TID_ADDRESS
    41,         42,      // SET, GET_THP_DISABLE
    47,                  // CAP_AMBIENT: setpriv
    50,         51,      // SVE_SET, GET_VL (arm64)
    52,         53,      // GET, SET_SPECULATION_CTRL
    54,         60, 61,  // PAC_RESET_KEYS, SET, GET_ENABLED_KEYS (arm64)
    55,         56,      // SET, GET_TAGGED_ADDR_CTRL (arm64)
    65,         66,      // SET, GET_MDWE
    0x41555856,          // GET_AUXV
    0x53564d41,          // SET_VMA: names of anonymous memory (bionic, Go, Java)
    0x59616d61,          // SET_PTRACER: crash handlers
};

class Compiler {
 public:
  constexpr FilterProgram compile(std::span<const SyscallRule> rules, Arch arch) {
    collect(rules, arch);
    stmt(BPF_LD | BPF_W | BPF_ABS, kOffArch);
    jump(BPF_JEQ, audit_arch(arch), 1, 0);
    ret(SECCOMP_RET_KILL_PROCESS);  // i386 by int 0x80, 32-bit Arm: the loader of such a program
                                    // dies at once
    stmt(BPF_LD | BPF_W | BPF_ABS, kOffNr);
    tree(0, range_count_);  // x32 numbers (bit 30) lie in the last range: ENOSYS
    if (land(Action::kClone)) refuse_bits(0, kCloneRefused, EPERM);
    if (land(Action::kCloneNested)) refuse_bits(0, kCloneParent, EPERM);
    if (land(Action::kMmap))
      refuse_bits(3, kMapHugetlb,
                  ENOMEM);  // as where the pool is empty: databases and Java go on without
    if (land(Action::kShmget)) refuse_bits(2, kShmHugetlb, ENOMEM);  // the same
    if (land(Action::kMemfd)) refuse_bits(1, kMfdHugetlb, EINVAL);   // as from a kernel of before
    if (land(Action::kIoctl)) {
      load_arg(1);
      ret_if_any({kTiocsti, kTioclinux, kTiocsetd, kSiocgifbr, kSiocsifbr, kSiocgifvlan,
                  kSiocsifvlan, kSiocbraddbr, kSiocbrdelbr, kSiocbraddif, kSiocbrdelif},
                 refuse(EPERM));
      ret(kAllowed);
    }
    if (land(Action::kMadvise)) {
      load_arg(2);
      ret_if_any({kMadvMergeable}, refuse(EINVAL));  // as from a kernel without merging
      ret(kAllowed);
    }
    if (land(Action::kPersonality)) {
      load_arg(0);
      ret_if_any(kPersonalities, kAllowed);
      ret(refuse(EPERM));
    }
    if (land(Action::kPersonalityAsk)) {
      load_arg(0);
      ret_if_any({kAskPersonality}, kAllowed);
      ret(refuse(EPERM));
    }
    if (land(Action::kPrctl)) {
      load_arg(0);
      jump(BPF_JEQ, kPrSetSeccomp, 0, 4);
      load_arg(1);
      ret_if_any({kModeFilter}, refuse(EINVAL));  // as below
      ret(kAllowed);
      prctl_list();
    }
    if (land(Action::kPrctlNested)) {
      load_arg(0);
      prctl_list();
    }
    if (land(Action::kSeccomp)) {
      load_arg(0);
      ret_if_any(
          {kSetModeFilter},
          refuse(EINVAL));  // as from a kernel without filters: sshd, man, apt and Chromium go on
      ret(kAllowed);
    }
    if (land(Action::kSetrlimit)) {
      load_arg(0);
      ret_if_any({kRlimitCore}, refuse(0));  // as if it had been done: sudo, sshd and gpg-agent set
                                             // it to 0, and would complain
      ret(kAllowed);
    }
    if (land(Action::kPrlimit)) prlimit_check();
    if (land(Action::kSetsockopt)) {
      load_arg(1);
      jump(BPF_JEQ, kSolTcp, 0, 8);
      load_arg(2);
      ret_if_any({kTcpUlp, kTcpAoAddKey, kTcpAoDelKey, kTcpAoInfo, kTcpAoGetKeys},
                 refuse(ENOPROTOOPT));
      ret(kAllowed);
      jump(BPF_JEQ, kSolSocket, 1, 0);
      ret(kAllowed);
      load_arg(2);
      ret_if_any(kSocketFilters, refuse(ENOPROTOOPT));
      ret(kAllowed);
    }
    if (land(Action::kSocketpair)) {
      load_arg(0);
      ret_if_any({AF_UNIX}, kAllowed);
      ret(refuse(EAFNOSUPPORT));
    }
    if (land(Action::kSocket)) socket_check();
    return program_;
  }

 private:
  struct Range {
    std::uint32_t first = 0;
    Action action = Action::kEnosys;
  };

  constexpr void collect(std::span<const SyscallRule> rules, Arch arch) {
    std::array<Range, 512> known{};
    std::size_t count = 0;
    for (const SyscallRule& rule : rules) {
      int number = arch == Arch::kX86_64 ? rule.x86_64 : rule.arm64;
      if (number >= 0) known[count++] = {static_cast<std::uint32_t>(number), rule.action};
    }
    std::sort(known.begin(), known.begin() + count,
              [](const Range& a, const Range& b) { return a.first < b.first; });
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (known[i].first > next || i == 0) add_range(next, Action::kEnosys);
      add_range(known[i].first, known[i].action);
      next = known[i].first + 1;
    }
    add_range(next, Action::kEnosys);
  }

  constexpr void add_range(std::uint32_t first, Action action) {
    if (range_count_ > 0 && ranges_[range_count_ - 1].first == first) --range_count_;
    if (range_count_ > 0 && ranges_[range_count_ - 1].action == action) return;
    ranges_[range_count_++] = {first, action};
  }

  // Instructions for ranges [begin, end): "below the middle: fall through; else: go right". Loading
  // costs by the instruction, so comparisons share their outcomes. An island of outcomes lies
  // behind each group of comparisons, within the 255 instructions that a conditional jump reaches.
  constexpr void tree(std::size_t begin, std::size_t end) {
    constexpr std::size_t kGroup = 128;
    if (end - begin <= kGroup) return group(begin, end);
    std::size_t middle = begin + (end - begin) / 2;
    jump(BPF_JGE, ranges_[middle].first, 0, 1);
    std::size_t to_right = program_.length;
    stmt(BPF_JMP | BPF_JA, 0);
    tree(begin, middle);
    program_.code[to_right].k = static_cast<std::uint32_t>(program_.length - to_right - 1);
    tree(middle, end);
  }

  constexpr void group(std::size_t begin, std::size_t end) {
    if (end - begin == 1) return leaf(ranges_[begin].action);
    exit_count_ = 0;
    comparisons(begin, end);
    for (std::size_t i = 0; i < exit_count_; ++i) {
      if (exits_[i].landed) continue;
      const Action action = exits_[i].action;
      for (std::size_t j = i; j < exit_count_; ++j) {
        if (exits_[j].action != action) continue;
        sock_filter& from = program_.code[exits_[j].from];
        (exits_[j].if_true ? from.jt : from.jf) =
            static_cast<std::uint8_t>(program_.length - exits_[j].from - 1);
        exits_[j].landed = true;
      }
      leaf(action);
    }
  }

  // One fewer than ranges; outcomes are left to group().
  constexpr void comparisons(std::size_t begin, std::size_t end) {
    const std::size_t middle = begin + (end - begin) / 2;
    const std::uint16_t here = program_.length;
    jump(BPF_JGE, ranges_[middle].first, static_cast<std::uint8_t>(middle - begin - 1), 0);
    if (middle - begin == 1)
      exits_[exit_count_++] = {here, false, ranges_[begin].action, false};
    else
      comparisons(begin, middle);
    if (end - middle == 1)
      exits_[exit_count_++] = {here, true, ranges_[middle].action, false};
    else
      comparisons(middle, end);
  }

  constexpr void leaf(Action action) {
    if (action == Action::kAllow) return ret(kAllowed);
    if (action == Action::kEperm) return ret(refuse(EPERM));
    if (action == Action::kEnosys) return ret(refuse(ENOSYS));
    pending_[pending_count_++] = {program_.length, action};
    stmt(BPF_JMP | BPF_JA, 0);
  }

  // Begins the block of `action` here, and points its leaves to it. Returns false if no rule uses
  // it.
  constexpr bool land(Action action) {
    bool asked = false;
    for (std::size_t i = 0; i < pending_count_; ++i) {
      if (pending_[i].action != action) continue;
      program_.code[pending_[i].first].k =
          static_cast<std::uint32_t>(program_.length - pending_[i].first - 1);
      asked = true;
    }
    return asked;
  }

  constexpr void refuse_bits(unsigned argument, std::uint32_t bits, int err) {
    load_arg(argument);
    jump(BPF_JSET, bits, 0, 1);
    ret(refuse(err));
    ret(kAllowed);
  }

  // As setrlimit, where there is a new limit; who wants the old one with it would read what nobody
  // wrote.
  constexpr void prlimit_check() {
    constexpr std::uint32_t kHighHalf = 4;
    load_arg(1);
    jump(BPF_JEQ, kRlimitCore, 1, 0);
    ret(kAllowed);
    load_arg(2);
    jump(BPF_JEQ, 0, 0, 2);
    stmt(BPF_LD | BPF_W | BPF_ABS, off_arg(2) + kHighHalf);
    jump(BPF_JEQ, 0, 4, 0);
    load_arg(3);
    ret_if_any({0}, refuse(0));
    ret(refuse(EPERM));
    ret(kAllowed);
  }

  // With the option loaded.
  constexpr void prctl_list() {
    ret_if_any(kPrctls, kAllowed);
    ret(refuse(EINVAL));  // as for an option the kernel does not know
  }

  constexpr void socket_check() {
    constexpr std::uint32_t kTypeMask = 0xf;  // the rest are SOCK_CLOEXEC, SOCK_NONBLOCK
    load_arg(0);
    ret_if_any({AF_UNIX}, kAllowed);
    jump(BPF_JEQ, AF_NETLINK, 0, 4);
    load_arg(2);
    ret_if_any({0}, kAllowed);  // NETLINK_ROUTE: ip, and lists of interfaces, without which Node's
                                // servers do not start
    ret(refuse(EPROTONOSUPPORT));  // libaudit takes it as "no audit here": sudo and useradd go on
    jump(BPF_JEQ, AF_INET, 2, 0);
    jump(BPF_JEQ, AF_INET6, 1, 0);
    ret(refuse(EAFNOSUPPORT));  // PACKET, ALG, VSOCK, XDP, CAN, TIPC, BLUETOOTH …
    load_arg(1);
    stmt(BPF_ALU | BPF_AND | BPF_K, kTypeMask);
    ret_if_any({SOCK_RAW}, refuse(EPERM));  // as without CAP_NET_RAW
    // The protocols of each type and family that every kernel has. Any other, SCTP, DCCP, L2TP and
    // SMC among them, makes root load a module (net-pf-2-proto-1-type-1).
    constexpr std::uint32_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmp6 = 58;
    jump(BPF_JEQ, SOCK_STREAM, 0, 5);
    load_arg(2);
    ret_if_any({0, kTcp}, kAllowed);
    ret(refuse(EPROTONOSUPPORT));
    jump(BPF_JEQ, SOCK_DGRAM, 1, 0);
    ret(refuse(ESOCKTNOSUPPORT));
    load_arg(2);
    ret_if_any({0, kUdp}, kAllowed);
    jump(BPF_JEQ, kIcmp, 0, 4);
    load_arg(0);
    ret_if_any({AF_INET}, kAllowed);
    ret(refuse(EPROTONOSUPPORT));
    jump(BPF_JEQ, kIcmp6, 0, 3);
    load_arg(0);
    ret_if_any({AF_INET6}, kAllowed);
    ret(refuse(EPROTONOSUPPORT));
  }

  constexpr void load_arg(unsigned i) { stmt(BPF_LD | BPF_W | BPF_ABS, off_arg(i)); }
  constexpr void ret(std::uint32_t value) { stmt(BPF_RET | BPF_K, value); }
  constexpr void ret_if_any(std::span<const std::uint32_t> values, std::uint32_t value) {
    for (std::size_t left = values.size(); left > 0; --left) {
      jump(BPF_JEQ, values[values.size() - left], static_cast<std::uint8_t>(left - 1),
           left == 1 ? 1 : 0);
    }
    ret(value);
  }
  constexpr void ret_if_any(std::initializer_list<std::uint32_t> values, std::uint32_t value) {
    ret_if_any(std::span<const std::uint32_t>(values.begin(), values.size()), value);
  }
  constexpr void stmt(int code, std::uint32_t k) {
    program_.code[program_.length++] = {static_cast<std::uint16_t>(code), 0, 0, k};
  }
  constexpr void jump(int test, std::uint32_t k, std::uint8_t yes, std::uint8_t no) {
    program_.code[program_.length++] = {static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), yes, no,
                                        k};
  }

  FilterProgram program_;
  std::array<Range, 600> ranges_{};
  std::size_t range_count_ = 0;
  struct Pending {
    std::uint16_t first;
    Action action;
  };
  std::array<Pending, 64> pending_{};
  struct Exit {
    std::uint16_t from;  // the comparison
    bool if_true;
    Action action;
    bool landed;
  };
  std::array<Exit, 256> exits_{};  // of the group being made
  std::size_t exit_count_ = 0;
  std::size_t pending_count_ = 0;
};

}  // namespace seccomp_detail

constexpr FilterProgram compile_filter(std::span<const SyscallRule> rules, Arch arch) {
  return seccomp_detail::Compiler().compile(rules, arch);
}

}  // namespace cay::keeper
