// The filters as programs, run by a small interpreter: every profile, both architectures, no
// kernel.
#include "keeper/seccomp_compile.h"

#include <gtest/gtest.h>
#include <seccomp.h>
#include <string.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "keeper/seccomp_profiles.h"

namespace cay::keeper {
namespace {

constexpr GuestRules kStrictRules = rules_of(Profile::kStrict),
                     kNestedRules = rules_of(Profile::kNested);
constexpr FilterProgram kX86 = compile_filter(kGuestRules, Arch::kX86_64);
constexpr FilterProgram kArm = compile_filter(kGuestRules, Arch::kArm64);
constexpr FilterProgram kStrictX86 = compile_filter(kStrictRules, Arch::kX86_64),
                        kStrictArm = compile_filter(kStrictRules, Arch::kArm64);
constexpr FilterProgram kNestedX86 = compile_filter(kNestedRules, Arch::kX86_64),
                        kNestedArm = compile_filter(kNestedRules, Arch::kArm64);
constexpr std::uint32_t errno_of(int err) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(err);
}

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
  const GuestRules& rules = kGuestRules;
};
std::uint32_t call(const Case& on, int number, std::uint64_t a0 = 0, std::uint64_t a1 = 0,
                   std::uint64_t a2 = 0, std::uint64_t a3 = 0) {
  return run(on.program, {number, audit_arch(on.arch), 0, {a0, a1, a2, a3, 0, 0}});
}
const Case kCases[] = {{Arch::kX86_64, kX86}, {Arch::kArm64, kArm}};
const Case kStrictCases[] = {{Arch::kX86_64, kStrictX86, kStrictRules},
                             {Arch::kArm64, kStrictArm, kStrictRules}};
const Case kNestedCases[] = {{Arch::kX86_64, kNestedX86, kNestedRules},
                             {Arch::kArm64, kNestedArm, kNestedRules}};
const Case kAllCases[] = {kCases[0],       kCases[1],       kStrictCases[0],
                          kStrictCases[1], kNestedCases[0], kNestedCases[1]};

int number_of(const Case& on, const std::string& name) {
  for (const SyscallRule& rule : kGuestRules)
    if (rule.name == name) return on.arch == Arch::kX86_64 ? rule.x86_64 : rule.arm64;
  return -1;
}

// As the kernel does: the stricter action, and of two refusals that of the filter loaded last.
std::uint32_t stricter(std::uint32_t first, std::uint32_t last) {
  if (first == SECCOMP_RET_KILL_PROCESS || last == SECCOMP_RET_KILL_PROCESS)
    return SECCOMP_RET_KILL_PROCESS;
  return last == SECCOMP_RET_ALLOW ? first : last;
}

// Every check of an argument compares with a constant of the program: these, and their neighbours.
std::vector<std::uint64_t> telling_values(const FilterProgram& program) {
  std::set<std::uint64_t> values = {0, 1, 2, 0x7fffffff, 0xffffffff};
  for (std::size_t i = 0; i < program.length; ++i) {
    if (BPF_CLASS(program.code[i].code) == BPF_JMP && BPF_OP(program.code[i].code) != BPF_JGE)
      values.insert(program.code[i].k);
  }
  return {values.begin(), values.end()};
}

template <Profile profile, Arch arch>
void expect_parts_make_the_whole() {
  static constexpr FilterProgram kWhole = compile_filter(rules_of(profile), arch),
                                 kAhead = compile_filter(rules_ahead(profile), arch),
                                 kLast = compile_filter(rules_at_last(profile), arch);
  EXPECT_LT(kLast.length, kWhole.length / 4);
  const std::vector<std::uint64_t> values = telling_values(kWhole);
  int refused_by_last = 0;
  for (int number = -2; number < 700; ++number) {
    for (const std::uint64_t one : values) {
      for (const std::uint64_t other : values) {
        for (const std::uint32_t on : {audit_arch(arch), std::uint32_t{AUDIT_ARCH_I386}}) {
          const seccomp_data data{number, on, 0, {one, other, one, other, 0, 0}};
          const std::uint32_t last = run(kLast, data);
          refused_by_last += last != SECCOMP_RET_ALLOW && run(kAhead, data) == SECCOMP_RET_ALLOW;
          ASSERT_EQ(stricter(run(kAhead, data), last), run(kWhole, data))
              << "call " << number << " with " << one << " and " << other;
        }
      }
    }
  }
  EXPECT_GT(refused_by_last, 0);
}

TEST(SeccompCompileTest, TwoPartsAreTheWholeFilter) {
  expect_parts_make_the_whole<Profile::kDefault, Arch::kX86_64>();
  expect_parts_make_the_whole<Profile::kStrict, Arch::kX86_64>();
  expect_parts_make_the_whole<Profile::kNested, Arch::kX86_64>();
  expect_parts_make_the_whole<Profile::kDefault, Arch::kArm64>();
}

TEST(SeccompCompileTest, NoCallHasTwoLines) {
  std::set<std::string_view> names;
  for (const SyscallRule& rule : kGuestRules)
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name << " has two lines";
}

TEST(SeccompCompileTest, AtMost250CallsAreReachableInEachProfile) {
  for (const Profile profile : kProfiles) {
    int reachable = 0;
    for (const SyscallRule& rule : rules_of(profile))
      reachable += is_reachable(rule.action) ? 1 : 0;
    EXPECT_LE(reachable, 250) << to_string(profile);
    EXPECT_GT(reachable, 200) << to_string(profile) << ": the count counts";
  }
}

TEST(SeccompCompileTest, StrictOnlyTakesAwayAndEveryLineOfAProfileChangesItsCall) {
  const auto action_of = [](std::string_view name) {
    return std::find_if(kGuestRules.begin(), kGuestRules.end(),
                        [&](const SyscallRule& one) { return one.name == name; })
        ->action;
  };
  for (const RuleChange& change : kStrictChanges) {
    EXPECT_TRUE(is_reachable(action_of(change.name))) << change.name;
    const bool narrower = change.action == Action::kPersonalityAsk;
    EXPECT_TRUE(narrower || !is_reachable(change.action)) << change.name;
  }
  for (const Profile profile : kProfiles) {
    std::set<std::string_view> names;
    for (const RuleChange& change : changes_of(profile)) {
      EXPECT_TRUE(names.insert(change.name).second) << change.name << " has two lines";
      EXPECT_NE(change.action, action_of(change.name)) << change.name;
    }
  }
  EXPECT_TRUE(changes_of(Profile::kDefault).empty());
}

TEST(SeccompCompileTest, WhatNoProfileOpens) {
  for (const char* name : {"bpf",
                           "perf_event_open",
                           "io_uring_setup",
                           "io_uring_enter",
                           "userfaultfd",
                           "keyctl",
                           "add_key",
                           "request_key",
                           "init_module",
                           "finit_module",
                           "delete_module",
                           "kexec_load",
                           "kexec_file_load",
                           "reboot",
                           "swapon",
                           "open_by_handle_at",
                           "fanotify_init",
                           "pidfd_getfd",
                           "fsopen",
                           "fsconfig",
                           "fsmount",
                           "fspick",
                           "open_tree_attr",
                           "clone3",
                           "vmsplice",
                           "syslog"}) {
    for (const Case& on : kAllCases) {
      const std::uint32_t got = call(on, number_of(on, name));
      EXPECT_TRUE(got == errno_of(EPERM) || got == errno_of(ENOSYS)) << name << " " << got;
    }
  }
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
  for (const Case& on : kAllCases) {
    std::map<int, Action> rules;
    for (const SyscallRule& rule : on.rules) {
      int number = on.arch == Arch::kX86_64 ? rule.x86_64 : rule.arm64;
      if (number >= 0) EXPECT_TRUE(rules.emplace(number, rule.action).second) << rule.name;
    }
    for (int number = 0; number < 2048; ++number) {
      auto rule = rules.find(number);
      Action action = rule == rules.end() ? Action::kEnosys : rule->second;
      std::uint32_t got = call(on, number);
      if (action == Action::kAllow)
        EXPECT_EQ(got, std::uint32_t{SECCOMP_RET_ALLOW}) << number;
      else if (action == Action::kEperm)
        EXPECT_EQ(got, errno_of(EPERM)) << number;
      else if (action == Action::kEnosys)
        EXPECT_EQ(got, errno_of(ENOSYS)) << number;
      else
        EXPECT_NE(got & 0xffff0000, 0xdead0000) << number;
    }
    EXPECT_EQ(call(on, -1), errno_of(ENOSYS));
    EXPECT_EQ(call(on, 0x40000000), errno_of(ENOSYS));  // x32
  }
}

TEST(SeccompCompileTest, AnotherArchitectureIsKilled) {
  for (const Case& on : kAllCases)
    for (std::uint32_t arch : {std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{AUDIT_ARCH_ARM}, 0u})
      EXPECT_EQ(run(on.program, {0, arch, 0, {}}), SECCOMP_RET_KILL_PROCESS);
}

TEST(SeccompCompileTest, ArgumentsAreChecked) {
  constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
  constexpr std::uint64_t kHigh =
      0xabcd'0000'0000'0000;  // the kernel ignores the high half: so must we
  for (const Case& on : kCases) {
    auto no = [&on](const char* name) { return number_of(on, name); };
    EXPECT_EQ(call(on, no("clone"), 0x003d0f00), kAllow);  // pthread_create
    EXPECT_EQ(call(on, no("clone"), 17), kAllow);
    for (std::uint64_t flag : std::initializer_list<std::uint64_t>{
             0x8000, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000})
      EXPECT_EQ(call(on, no("clone"), flag | 17), errno_of(EPERM)) << flag;
    EXPECT_EQ(call(on, no("ioctl"), 0, 0x5401), kAllow);
    EXPECT_EQ(call(on, no("ioctl"), 0, 0x5412), errno_of(EPERM));
    EXPECT_EQ(call(on, no("ioctl"), 0, 0x5412 | kHigh), errno_of(EPERM));
    EXPECT_EQ(call(on, no("ioctl"), 0, 0x541c), errno_of(EPERM));
    for (std::uint64_t of_modules : std::initializer_list<std::uint64_t>{
             0x8940, 0x8941, 0x8982, 0x8983, 0x89a0, 0x89a1, 0x89a2, 0x89a3})
      EXPECT_EQ(call(on, no("ioctl"), 0, of_modules), errno_of(EPERM)) << of_modules;
    EXPECT_EQ(call(on, no("ioctl"), 0, 0x8912), kAllow);     // SIOCGIFCONF
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
    for (std::uint64_t option : std::initializer_list<std::uint64_t>{31, 38, 39, 40, 41})
      EXPECT_EQ(call(on, no("setsockopt"), 0, 6, option), errno_of(ENOPROTOOPT)) << option;
    EXPECT_EQ(call(on, no("setsockopt"), 0, 6, 37), kAllow);
    EXPECT_EQ(call(on, no("setsockopt"), 0, 1, 50), errno_of(ENOPROTOOPT));  // SO_ATTACH_BPF
    EXPECT_EQ(call(on, no("setsockopt"), 0, 1, 31), kAllow);
    EXPECT_EQ(call(on, no("socketpair"), AF_UNIX), kAllow);
    EXPECT_EQ(call(on, no("socketpair"), AF_TIPC), errno_of(EAFNOSUPPORT));

    int socket = no("socket");
    EXPECT_EQ(call(on, socket, AF_UNIX, SOCK_SEQPACKET), kAllow);
    EXPECT_EQ(call(on, socket, AF_NETLINK, SOCK_RAW, 0), kAllow);
    EXPECT_EQ(call(on, socket, AF_NETLINK, SOCK_RAW, 12), errno_of(EPROTONOSUPPORT));
    for (std::uint64_t family : std::initializer_list<std::uint64_t>{AF_INET, AF_INET6}) {
      for (std::uint64_t flags :
           std::initializer_list<std::uint64_t>{0, SOCK_CLOEXEC | SOCK_NONBLOCK}) {
        EXPECT_EQ(call(on, socket, family, SOCK_STREAM | flags, 0), kAllow);
        EXPECT_EQ(call(on, socket, family, SOCK_STREAM | flags, 6), kAllow);
        EXPECT_EQ(call(on, socket, family, SOCK_DGRAM | flags, 17), kAllow);
        EXPECT_EQ(call(on, socket, family, SOCK_RAW | flags, 1), errno_of(EPERM));
        EXPECT_EQ(call(on, socket, family, SOCK_DGRAM | flags, 0), kAllow);
        EXPECT_EQ(call(on, socket, family, SOCK_DGRAM | flags, family == AF_INET ? 1 : 58),
                  kAllow);  // ping
        // The kernel has modules looked for that have it.
        for (std::uint64_t other : std::initializer_list<std::uint64_t>{1, 2, 17, 58})
          EXPECT_EQ(call(on, socket, family, SOCK_STREAM | flags, other), errno_of(EPROTONOSUPPORT))
              << other;
        for (std::uint64_t other :
             std::initializer_list<std::uint64_t>{2, 6, family == AF_INET ? 58u : 1u})
          EXPECT_EQ(call(on, socket, family, SOCK_DGRAM | flags, other), errno_of(EPROTONOSUPPORT))
              << other;
        EXPECT_EQ(call(on, socket, family, SOCK_STREAM | flags, 132),
                  errno_of(EPROTONOSUPPORT));  // SCTP
        EXPECT_EQ(call(on, socket, family, SOCK_SEQPACKET | flags, 132), errno_of(ESOCKTNOSUPPORT));
        EXPECT_EQ(call(on, socket, family, SOCK_DGRAM | flags, 115),
                  errno_of(EPROTONOSUPPORT));  // L2TP
      }
    }
    for (std::uint64_t family = 0; family < 64; ++family) {
      if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
        continue;
      EXPECT_EQ(call(on, socket, family, SOCK_STREAM), errno_of(EAFNOSUPPORT)) << family;
    }
  }
}

TEST(SeccompCompileTest, NoProfileHasHugePagesSocketFiltersOrRawSockets) {
  constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
  constexpr std::uint64_t kHigh = 0xabcd'0000'0000'0000;
  for (const Case& on : kAllCases) {
    const auto no = [&on](const char* name) { return number_of(on, name); };
    EXPECT_EQ(call(on, no("mmap"), 0, 4096, 3, 0x22), kAllow);
    EXPECT_EQ(call(on, no("mmap"), 0, 4096, 3, 0x40022), errno_of(ENOMEM));
    EXPECT_EQ(call(on, no("mmap"), 0, 4096, 3, 0x54040022 | kHigh), errno_of(ENOMEM))
        << "of 2 MiB, by its number";
    EXPECT_EQ(call(on, no("memfd_create"), 0, 3), kAllow);
    EXPECT_EQ(call(on, no("memfd_create"), 0, 5), errno_of(EINVAL));
    EXPECT_EQ(call(on, no("shmget"), 0, 4096, 0x380), kAllow);
    EXPECT_EQ(call(on, no("shmget"), 0, 4096, 0xb80), errno_of(ENOMEM));
    for (const std::uint64_t option : std::initializer_list<std::uint64_t>{26, 44, 50, 51, 52}) {
      EXPECT_EQ(call(on, no("setsockopt"), 3, 1, option), errno_of(ENOPROTOOPT)) << option;
      EXPECT_EQ(call(on, no("setsockopt"), 3, 1 | kHigh, option | kHigh), errno_of(ENOPROTOOPT))
          << option;
      EXPECT_EQ(call(on, no("setsockopt"), 3, 6, option), kAllow)
          << "of TCP's options " << option << " is another one";
    }
    for (const std::uint64_t option :
         std::initializer_list<std::uint64_t>{2, 9, 15, 27, 43, 45, 53})
      EXPECT_EQ(call(on, no("setsockopt"), 3, 1, option), kAllow) << option;
    for (const std::uint64_t family : std::initializer_list<std::uint64_t>{AF_INET, AF_INET6}) {
      EXPECT_EQ(call(on, no("socket"), family, SOCK_RAW, 1), errno_of(EPERM));
      EXPECT_EQ(call(on, no("socket"), family, SOCK_RAW | SOCK_CLOEXEC, 255), errno_of(EPERM));
      EXPECT_EQ(call(on, no("socket"), family, 10 /* SOCK_PACKET */, 0x300),
                errno_of(ESOCKTNOSUPPORT));
    }
    EXPECT_EQ(call(on, no("socket"), AF_PACKET, SOCK_RAW), errno_of(EAFNOSUPPORT));
    EXPECT_EQ(call(on, no("socket"), AF_PACKET, SOCK_DGRAM), errno_of(EAFNOSUPPORT));
  }
}

TEST(SeccompCompileTest, FiltersOfTheGuestsOwnAreForNestedAlone) {
  constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
  for (const Case& on : kAllCases) {
    const bool nested = &on.rules == &kNestedRules;
    const auto no = [&on](const char* name) { return number_of(on, name); };
    EXPECT_EQ(call(on, no("seccomp"), 1), nested ? kAllow : errno_of(EINVAL));
    EXPECT_EQ(call(on, no("seccomp"), 1, 1), nested ? kAllow : errno_of(EINVAL))
        << "for all threads";
    EXPECT_EQ(call(on, no("prctl"), 22, 2), nested ? kAllow : errno_of(EINVAL));
    for (const std::uint64_t operation : std::initializer_list<std::uint64_t>{0, 2, 3})
      EXPECT_EQ(call(on, no("seccomp"), operation), kAllow) << operation;
    EXPECT_EQ(call(on, no("prctl"), 22, 1), kAllow);
    EXPECT_EQ(call(on, no("prctl"), 21), kAllow);
    EXPECT_EQ(call(on, no("prctl"), 15, 2), kAllow);
    EXPECT_EQ(call(on, no("prctl"), 35, 2), errno_of(EINVAL));
  }
}

TEST(SeccompCompileTest, StrictChecksMore) {
  for (const Case& on : kStrictCases) {
    const auto no = [&on](const char* name) { return number_of(on, name); };
    EXPECT_EQ(call(on, no("personality"), 0xffffffff), std::uint32_t{SECCOMP_RET_ALLOW});
    for (const std::uint64_t value : std::initializer_list<std::uint64_t>{0, 8, 0x20000, 0x40000})
      EXPECT_EQ(call(on, no("personality"), value), errno_of(EPERM)) << value;
    for (const std::uint64_t family : std::initializer_list<std::uint64_t>{AF_INET, AF_INET6}) {
      EXPECT_EQ(call(on, no("socket"), family, SOCK_RAW, 1), errno_of(EPERM));
      EXPECT_EQ(call(on, no("socket"), family, SOCK_RAW | SOCK_CLOEXEC, 255), errno_of(EPERM));
      EXPECT_EQ(call(on, no("socket"), family, SOCK_DGRAM, family == AF_INET ? 1 : 58),
                std::uint32_t{SECCOMP_RET_ALLOW});  // ping
      EXPECT_EQ(call(on, no("socket"), family, SOCK_STREAM, 6), std::uint32_t{SECCOMP_RET_ALLOW});
      EXPECT_EQ(call(on, no("socket"), family, SOCK_STREAM, 132), errno_of(EPROTONOSUPPORT));
    }
    EXPECT_EQ(call(on, no("socket"), AF_NETLINK, SOCK_RAW, 0), std::uint32_t{SECCOMP_RET_ALLOW});
    EXPECT_EQ(call(on, no("socket"), AF_NETLINK, SOCK_RAW, 9),
              errno_of(EPROTONOSUPPORT));  // libaudit's "no audit here"
    EXPECT_EQ(call(on, no("socket"), AF_PACKET, SOCK_RAW), errno_of(EAFNOSUPPORT));
    for (const char* name : {"ptrace", "process_vm_readv", "process_vm_writev", "chroot"})
      EXPECT_EQ(call(on, no(name)), errno_of(EPERM)) << name;
  }
}

TEST(SeccompCompileTest, NestedLetsContainersBeMadeAndTheRestAsItIs) {
  for (const Case& on : kNestedCases) {
    const auto no = [&on](const char* name) { return number_of(on, name); };
    for (const std::uint64_t flag : std::initializer_list<std::uint64_t>{
             0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000}) {
      EXPECT_EQ(call(on, no("clone"), flag | 17), std::uint32_t{SECCOMP_RET_ALLOW}) << flag;
      EXPECT_EQ(call(on, no("clone"), flag | 0x8000 | 17), errno_of(EPERM))
          << flag;  // a child of the keeper's
    }
    for (const char* name : {"unshare", "setns", "mount", "umount2", "pivot_root", "sethostname",
                             "open_tree", "move_mount", "mount_setattr"}) {
      EXPECT_EQ(call(on, no(name)), std::uint32_t{SECCOMP_RET_ALLOW}) << name;
    }
    EXPECT_EQ(call(on, no("keyctl")), errno_of(ENOSYS));
    EXPECT_EQ(call(on, no("socket"), AF_NETLINK, SOCK_RAW, 12),
              errno_of(EPROTONOSUPPORT));  // netfilter
    EXPECT_EQ(call(on, no("socket"), AF_ALG, SOCK_SEQPACKET), errno_of(EAFNOSUPPORT));
    EXPECT_EQ(call(on, no("socket"), AF_PACKET, SOCK_RAW), errno_of(EAFNOSUPPORT));
  }
}

}  // namespace
}  // namespace cay::keeper
