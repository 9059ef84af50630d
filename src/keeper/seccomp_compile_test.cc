// The filter as a program, run by a small interpreter: both architectures, no kernel.
#include "keeper/seccomp_compile.h"

#include <gtest/gtest.h>
#include <seccomp.h>
#include <string.h>

#include <initializer_list>
#include <map>
#include <set>
#include <string>

namespace cay::keeper {
namespace {

constexpr FilterProgram kX86 = compile_filter(kGuestRules, Arch::kX86_64);
constexpr FilterProgram kArm = compile_filter(kGuestRules, Arch::kArm64);
constexpr std::uint32_t errno_of(int err) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(err); }

// Answers 0xdead0000 for a jump out of the program or an instruction that the kernel would refuse.
std::uint32_t run(const FilterProgram& program, const seccomp_data& data) {
  std::uint32_t a = 0;
  for (std::size_t pc = 0; pc < program.length;) {
    const sock_filter& op = program.code[pc++];
    const char* at = reinterpret_cast<const char*>(&data) + op.k;
    switch (op.code) {
      case BPF_LD | BPF_W | BPF_ABS: memcpy(&a, at, 4); break;
      case BPF_ALU | BPF_AND | BPF_K: a &= op.k; break;
      case BPF_JMP | BPF_JA: pc += op.k; break;
      case BPF_JMP | BPF_JEQ | BPF_K: pc += a == op.k ? op.jt : op.jf; break;
      case BPF_JMP | BPF_JGE | BPF_K: pc += a >= op.k ? op.jt : op.jf; break;
      case BPF_JMP | BPF_JSET | BPF_K: pc += (a & op.k) != 0 ? op.jt : op.jf; break;
      case BPF_RET | BPF_K: return op.k;
      default: return 0xdead0001;
    }
  }
  return 0xdead0000;
}

struct Case {
  Arch arch;
  const FilterProgram& program;
};
std::uint32_t call(const Case& on, int number, std::uint64_t a0 = 0, std::uint64_t a1 = 0, std::uint64_t a2 = 0) {
  return run(on.program, {number, audit_arch(on.arch), 0, {a0, a1, a2, 0, 0, 0}});
}
const Case kCases[] = {{Arch::kX86_64, kX86}, {Arch::kArm64, kArm}};

int number_of(const Case& on, const std::string& name) {
  for (const SyscallRule& rule : kGuestRules)
    if (rule.name == name) return on.arch == Arch::kX86_64 ? rule.x86_64 : rule.arm64;
  return -1;
}

TEST(SeccompCompileTest, AtMost250NamesAreAllowedAndNoneTwice) {
  std::set<std::string_view> names;
  int allowed = 0;
  for (const SyscallRule& rule : kGuestRules) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name << " has two lines";
    allowed += rule.action != Action::kEperm && rule.action != Action::kEnosys;
  }
  EXPECT_LE(allowed, 250);
}

TEST(SeccompCompileTest, NumbersAgreeWithLibseccomp) {
  int known = 0;
  for (const SyscallRule& rule : kGuestRules) {
    std::string name(rule.name);
    int x86 = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name.c_str());
    int arm = seccomp_syscall_resolve_name_arch(SCMP_ARCH_AARCH64, name.c_str());
    if (x86 == __NR_SCMP_ERROR) continue;  // newer than the library
    ++known;
    EXPECT_EQ(rule.x86_64, x86 < 0 ? -1 : x86) << name;
    EXPECT_EQ(rule.arm64, arm < 0 ? -1 : arm) << name;
  }
  EXPECT_GT(known, 250);  // the comparison compared
}

TEST(SeccompCompileTest, EveryNumberGetsItsRuleAndTheRestEnosys) {
  for (const Case& on : kCases) {
    std::map<int, Action> rules;
    for (const SyscallRule& rule : kGuestRules) {
      int number = on.arch == Arch::kX86_64 ? rule.x86_64 : rule.arm64;
      if (number >= 0) EXPECT_TRUE(rules.emplace(number, rule.action).second) << rule.name;
    }
    for (int number = 0; number < 2048; ++number) {
      auto rule = rules.find(number);
      Action action = rule == rules.end() ? Action::kEnosys : rule->second;
      std::uint32_t got = call(on, number);
      if (action == Action::kAllow) EXPECT_EQ(got, std::uint32_t{SECCOMP_RET_ALLOW}) << number;
      else if (action == Action::kEperm) EXPECT_EQ(got, errno_of(EPERM)) << number;
      else if (action == Action::kEnosys) EXPECT_EQ(got, errno_of(ENOSYS)) << number;
      else EXPECT_NE(got & 0xffff0000, 0xdead0000) << number;
    }
    EXPECT_EQ(call(on, -1), errno_of(ENOSYS));
    EXPECT_EQ(call(on, 0x40000000), errno_of(ENOSYS));  // x32
  }
}

TEST(SeccompCompileTest, AnotherArchitectureIsKilled) {
  for (const Case& on : kCases)
    for (std::uint32_t arch : {std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{AUDIT_ARCH_ARM}, 0u})
      EXPECT_EQ(run(on.program, {0, arch, 0, {}}), SECCOMP_RET_KILL_PROCESS);
}

TEST(SeccompCompileTest, ArgumentsAreChecked) {
  constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
  constexpr std::uint64_t kHigh = 0xabcd'0000'0000'0000;  // the kernel ignores the high half: so must we
  for (const Case& on : kCases) {
    auto no = [&on](const char* name) { return number_of(on, name); };
    EXPECT_EQ(call(on, no("clone"), 0x003d0f00), kAllow);  // pthread_create
    EXPECT_EQ(call(on, no("clone"), 17), kAllow);
    for (std::uint64_t flag : std::initializer_list<std::uint64_t>{0x8000, 0x20000, 0x2000000, 0x4000000, 0x8000000,
                                                                   0x10000000, 0x20000000, 0x40000000})
      EXPECT_EQ(call(on, no("clone"), flag | 17), errno_of(EPERM)) << flag;
    EXPECT_EQ(call(on, no("ioctl"), 0, 0x5401), kAllow);
    EXPECT_EQ(call(on, no("ioctl"), 0, 0x5412), errno_of(EPERM));
    EXPECT_EQ(call(on, no("ioctl"), 0, 0x5412 | kHigh), errno_of(EPERM));
    EXPECT_EQ(call(on, no("ioctl"), 0, 0x541c), errno_of(EPERM));
    EXPECT_EQ(call(on, no("madvise"), 0, 4096, 4), kAllow);  // DONTNEED
    EXPECT_EQ(call(on, no("madvise"), 0, 4096, 13), kAllow);
    EXPECT_EQ(call(on, no("madvise"), 0, 4096, 12), errno_of(EINVAL));  // MERGEABLE
    EXPECT_EQ(call(on, no("madvise"), 0, 4096, 12 | kHigh), errno_of(EINVAL));
    EXPECT_EQ(call(on, no("personality"), 0xffffffff), kAllow);
    EXPECT_EQ(call(on, no("personality"), 0x0400000), errno_of(EPERM));  // READ_IMPLIES_EXEC
    EXPECT_EQ(call(on, no("prctl"), 15), kAllow);
    EXPECT_EQ(call(on, no("prctl"), 35), errno_of(EINVAL));  // PR_SET_MM
    EXPECT_EQ(call(on, no("prctl"), 67), errno_of(EINVAL));  // PR_SET_MEMORY_MERGE
    EXPECT_EQ(call(on, no("setsockopt"), 0, 6, 1), kAllow);
    EXPECT_EQ(call(on, no("setsockopt"), 0, 6, 31), errno_of(ENOPROTOOPT));
    EXPECT_EQ(call(on, no("setsockopt"), 0, 1, 31), kAllow);
    EXPECT_EQ(call(on, no("socketpair"), AF_UNIX), kAllow);
    EXPECT_EQ(call(on, no("socketpair"), AF_TIPC), errno_of(EAFNOSUPPORT));

    int socket = no("socket");
    EXPECT_EQ(call(on, socket, AF_UNIX, SOCK_SEQPACKET), kAllow);
    EXPECT_EQ(call(on, socket, AF_NETLINK, SOCK_RAW, 0), kAllow);
    EXPECT_EQ(call(on, socket, AF_NETLINK, SOCK_RAW, 12), errno_of(EPROTONOSUPPORT));
    for (std::uint64_t family : std::initializer_list<std::uint64_t>{AF_INET, AF_INET6}) {
      for (std::uint64_t flags : std::initializer_list<std::uint64_t>{0, SOCK_CLOEXEC | SOCK_NONBLOCK}) {
        EXPECT_EQ(call(on, socket, family, SOCK_STREAM | flags, 0), kAllow);
        EXPECT_EQ(call(on, socket, family, SOCK_STREAM | flags, 6), kAllow);
        EXPECT_EQ(call(on, socket, family, SOCK_DGRAM | flags, 17), kAllow);
        EXPECT_EQ(call(on, socket, family, SOCK_RAW | flags, 1), kAllow);
        EXPECT_EQ(call(on, socket, family, SOCK_STREAM | flags, 132), errno_of(EPROTONOSUPPORT));  // SCTP
        EXPECT_EQ(call(on, socket, family, SOCK_SEQPACKET | flags, 132), errno_of(ESOCKTNOSUPPORT));
        EXPECT_EQ(call(on, socket, family, SOCK_DGRAM | flags, 115), errno_of(EPROTONOSUPPORT));  // L2TP
      }
    }
    for (std::uint64_t family = 0; family < 64; ++family) {
      if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
      EXPECT_EQ(call(on, socket, family, SOCK_STREAM), errno_of(EAFNOSUPPORT)) << family;
    }
  }
}

}  // namespace
}  // namespace cay::keeper
