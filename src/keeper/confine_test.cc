// confine() and its filter against the kernel: each refusal with a positive control, the same call
// in the same place without the filter.
#include "keeper/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include "keeper/seccomp_filter.h"

namespace cay::keeper {
namespace {

constexpr int kNoError = 0;
constexpr int kSetupFailed = 255;
constexpr int kKilledBase = 1000;  // + signal

// The errno of `body` in a child, 0 for success; with a profile's filter or without any.
int outcome(std::optional<Profile> filter, const std::function<long()>& body) {
  pid_t child = fork();
  if (child == 0) {
    if (filter && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || load_guest_filter(*filter) != 0))
      _exit(kSetupFailed);
    errno = 0;
    _exit(body() < 0 ? errno : kNoError);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? kKilledBase + WTERMSIG(status) : WEXITSTATUS(status);
}

// Arguments are chosen so that an unfiltered kernel answers something else (or succeeds, in the
// child only).
struct Refusal {
  const char* name;
  int refused_with;
  std::function<long()> body;
};

TEST(GuestFilterTest, RefusesWhatBelongsToTheHost) {
  const Refusal refusals[] = {
      {"unshare user ns", EPERM, [] { return syscall(SYS_unshare, CLONE_NEWUSER); }},
      {"setns", EPERM, [] { return syscall(SYS_setns, -1, 0); }},
      {"clone into user ns", EPERM,
       [] {
         long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
         if (child == 0) _exit(0);
         return child;
       }},
      {"clone as the keeper's child", EPERM,
       [] {
         long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
         if (child == 0) _exit(0);
         return child;
       }},
      {"clone3", ENOSYS, [] { return syscall(SYS_clone3, nullptr, 0); }},
      {"mount", EPERM, [] { return syscall(SYS_mount, nullptr, nullptr, nullptr, 0, nullptr); }},
      {"umount2", EPERM, [] { return syscall(SYS_umount2, "/nonexistent", 0); }},
      {"pivot_root", EPERM, [] { return syscall(SYS_pivot_root, "/nonexistent", "/nonexistent"); }},
      {"fsopen", EPERM, [] { return syscall(SYS_fsopen, "nonexistent", 0); }},
      {"open_tree", EPERM, [] { return syscall(SYS_open_tree, -1, "", 0); }},
      {"io_uring_setup", EPERM, [] { return syscall(SYS_io_uring_setup, 1, nullptr); }},
      {"bpf", EPERM, [] { return syscall(SYS_bpf, -1, nullptr, 0); }},
      {"perf_event_open", EPERM,
       [] { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }},
      {"userfaultfd", EPERM, [] { return syscall(SYS_userfaultfd, ~0); }},
      {"keyctl", EPERM, [] { return syscall(SYS_keyctl, 0, -3, 0); }},
      {"add_key", EPERM, [] { return syscall(SYS_add_key, nullptr, nullptr, nullptr, 0, 0); }},
      {"request_key", EPERM, [] { return syscall(SYS_request_key, nullptr, nullptr, nullptr, 0); }},
      {"finit_module", EPERM, [] { return syscall(SYS_finit_module, -1, "", 0); }},
      {"swapon", EPERM, [] { return syscall(SYS_swapon, "/nonexistent", 0); }},
      {"quotactl", EPERM, [] { return syscall(SYS_quotactl, ~0, nullptr, 0, nullptr); }},
      {"open_by_handle_at", EPERM, [] { return syscall(SYS_open_by_handle_at, -1, nullptr, 0); }},
      {"name_to_handle_at", EPERM,
       [] { return syscall(SYS_name_to_handle_at, -1, nullptr, nullptr, nullptr, 0); }},
      {"fanotify_init", EPERM, [] { return syscall(SYS_fanotify_init, ~0, 0); }},
      {"pidfd_getfd", EPERM, [] { return syscall(SYS_pidfd_getfd, -1, 0, 0); }},
      {"kcmp", EPERM, [] { return syscall(SYS_kcmp, 0, 0, 0, 0, 0); }},
      {"move_pages", EPERM,
       [] { return syscall(SYS_move_pages, 0, 0, nullptr, nullptr, nullptr, ~0); }},
      {"vmsplice", EPERM, [] { return syscall(SYS_vmsplice, -1, nullptr, 0, 0); }},
      {"memfd_secret", EPERM, [] { return syscall(SYS_memfd_secret, ~0u); }},
      {"AF_ALG", EAFNOSUPPORT,
       [] { return syscall(SYS_socket, AF_ALG, SOCK_RAW, 0); }},  // EPROTONOSUPPORT or success
      {"AF_PACKET", EAFNOSUPPORT, [] { return syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0); }},
      {"netlink netfilter", EPROTONOSUPPORT,
       [] { return syscall(SYS_socket, AF_NETLINK, SOCK_DGRAM, 12); }},
      {"TIOCSTI", EPERM, [] { return ioctl(-1, TIOCSTI, ""); }},
      {"personality READ_IMPLIES_EXEC", EPERM,
       [] { return syscall(SYS_personality, READ_IMPLIES_EXEC); }},
      {"madvise MERGEABLE", EINVAL,
       [] {
         void* page =
             mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return static_cast<long>(madvise(page, 4096, 12));
       }},
      {"prctl MEMORY_MERGE", EINVAL, [] { return prctl(67, 1, 0, 0, 0); }},
      {"TCP_ULP", ENOPROTOOPT, [] { return setsockopt(-1, 6, 31, "tls", 3); }},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_EQ(outcome(Profile::kDefault, refusal.body), refusal.refused_with) << refusal.name;
    if (outcome(std::nullopt, refusal.body) == refusal.refused_with) {
      // This kernel refuses by itself (an option left out, or no privilege here). Then
      // seccomp_compile_test alone shows the filter's part, and this line reports it.
      std::printf("  no positive control for %s: this kernel answers the same without the filter\n",
                  refusal.name);
    }
  }
}

TEST(GuestFilterTest, AllowsWhatProgramsNeed) {
  const Refusal uses[] = {
      {"fork", 0,
       [] {
         pid_t child = fork();
         if (child == 0) _exit(0);
         return static_cast<long>(waitpid(child, nullptr, 0));
       }},
      {"route netlink", 0,
       [] { return static_cast<long>(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0)); }},
      {"tcp", 0, [] { return static_cast<long>(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)); }},
      {"unix pair", 0,
       [] {
         int pair[2];
         return static_cast<long>(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
       }},
      {"name", 0, [] { return static_cast<long>(prctl(PR_SET_NAME, "x", 0, 0, 0)); }},
      {"own ptrace", 0, [] { return syscall(SYS_ptrace, 0 /* TRACEME */, 0, 0, 0); }},
      {"no randomisation", 0, [] { return static_cast<long>(personality(ADDR_NO_RANDOMIZE)); }},
      {"dynamic program", 0,
       [] {
         pid_t child = fork();
         if (child == 0) {
           execl("/bin/sh", "sh", "-c", "ls / | sort >/dev/null && test $(id -u) -ge 0", nullptr);
           _exit(127);
         }
         int status = 0;
         waitpid(child, &status, 0);
         return status == 0 ? 0L : -1L;
       }},
  };
  for (const Refusal& use : uses)
    EXPECT_EQ(outcome(Profile::kDefault, use.body), kNoError) << use.name;
}

TEST(GuestFilterTest, StrictRefusesMore) {
  const Refusal refusals[] = {
      {"ptrace", EPERM, [] { return syscall(SYS_ptrace, 0 /* TRACEME */, 0, 0, 0); }},
      {"process_vm_readv", EPERM,
       [] { return syscall(SYS_process_vm_readv, getpid(), nullptr, 0, nullptr, 0, 0); }},
      {"process_vm_writev", EPERM,
       [] { return syscall(SYS_process_vm_writev, getpid(), nullptr, 0, nullptr, 0, 0); }},
      {"no randomisation", EPERM, [] { return syscall(SYS_personality, ADDR_NO_RANDOMIZE); }},
      {"a message queue", ENOSYS,
       [] {
         const long queue = syscall(SYS_msgget, 0, 0600);
         if (queue >= 0) syscall(SYS_msgctl, queue, 0 /* IPC_RMID */, nullptr);
         return queue;
       }},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_EQ(outcome(Profile::kStrict, refusal.body), refusal.refused_with) << refusal.name;
    EXPECT_NE(outcome(Profile::kDefault, refusal.body), refusal.refused_with)
        << refusal.name << ": the control, in profile default";
  }
  // Calls that need a privilege: the errno shows who refuses.
  const auto other_root = [] { return syscall(SYS_chroot, "/nonexistent"); };
  EXPECT_EQ(outcome(Profile::kStrict, other_root), EPERM);
  EXPECT_EQ(outcome(Profile::kDefault, other_root), ENOENT);
}

long map_huge_page() {
  return mmap(nullptr, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) ==
                 MAP_FAILED
             ? -1L
             : 0L;
}

// A program that lets everything pass.
sock_filter pass[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
sock_fprog pass_program{1, pass};

long filter_a_socket(int option) {
  const int one = 1;
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const bool program = option == SO_ATTACH_FILTER || option == SO_ATTACH_REUSEPORT_CBPF;
  if (option == SO_ATTACH_REUSEPORT_CBPF)
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
  return program ? setsockopt(fd, SOL_SOCKET, option, &pass_program, sizeof pass_program)
                 : setsockopt(fd, SOL_SOCKET, option, &one, sizeof one);
}

long filter_itself() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &pass_program);
}

long filter_itself_by_prctl() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &pass_program, 0, 0);
}

// Calls that take host memory, or its room for compiled programs, without a limit that counts it.
TEST(GuestFilterTest, RefusesWhatNoLimitCounts) {
  const Refusal refusals[] = {
      {"socket filter", ENOPROTOOPT, [] { return filter_a_socket(SO_ATTACH_FILTER); }},
      {"filter of a group of sockets", ENOPROTOOPT,
       [] { return filter_a_socket(SO_ATTACH_REUSEPORT_CBPF); }},
      {"locked filter", ENOPROTOOPT, [] { return filter_a_socket(SO_LOCK_FILTER); }},
      {"eBPF of a socket", ENOPROTOOPT, [] { return filter_a_socket(SO_ATTACH_BPF); }},
      {"eBPF of a group of sockets", ENOPROTOOPT,
       [] { return filter_a_socket(SO_ATTACH_REUSEPORT_EBPF); }},
      {"huge pages by a file", EINVAL,
       [] { return static_cast<long>(memfd_create("huge", MFD_HUGETLB)); }},
  };
  for (const Profile profile : kProfiles) {
    for (const Refusal& refusal : refusals)
      EXPECT_EQ(outcome(profile, refusal.body), refusal.refused_with)
          << to_string(profile) << ": " << refusal.name;
    EXPECT_EQ(outcome(profile, map_huge_page), ENOMEM);
    EXPECT_EQ(outcome(profile, [] { return syscall(SYS_shmget, 0, 2 << 20, 0x800 | 0600); }),
              ENOMEM);
    EXPECT_EQ(outcome(profile, [] { return syscall(SYS_socket, AF_INET, SOCK_RAW, 255); }), EPERM);
    EXPECT_EQ(outcome(profile, filter_itself), profile == Profile::kNested ? kNoError : EINVAL);
    EXPECT_EQ(outcome(profile, filter_itself_by_prctl),
              profile == Profile::kNested ? kNoError : EINVAL);
  }
  for (const Refusal& refusal : refusals)
    EXPECT_NE(outcome(std::nullopt, refusal.body), refusal.refused_with)
        << refusal.name << ": the control";
  EXPECT_EQ(outcome(std::nullopt, filter_itself), kNoError);
  EXPECT_EQ(outcome(std::nullopt, filter_itself_by_prctl), kNoError);
  if (geteuid() == 0)
    EXPECT_EQ(outcome(std::nullopt, [] { return syscall(SYS_socket, AF_INET, SOCK_RAW, 255); }),
              kNoError);
  // For huge pages a kernel without any answers the same. The escape suite's control has some.
}

TEST(GuestFilterTest, NestedLetsNamespacesBeMade) {
  const auto users = [] { return syscall(SYS_unshare, CLONE_NEWUSER); };
  if (outcome(std::nullopt, users) != kNoError)
    GTEST_SKIP() << "no user namespaces for this user here";
  EXPECT_EQ(outcome(Profile::kNested, users), kNoError);
  EXPECT_EQ(outcome(Profile::kDefault, users), EPERM);
  const auto contained = [] {
    if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS) != 0) return -1L;
    if (mount("none", "/tmp", "tmpfs", 0, nullptr) != 0 || umount2("/tmp", MNT_DETACH) != 0)
      return -1L;
    return static_cast<long>(sethostname("inner", 5));
  };
  EXPECT_EQ(outcome(Profile::kNested, contained), kNoError);
  EXPECT_EQ(outcome(Profile::kNested, [] { return syscall(SYS_fsopen, "tmpfs", 0); }),
            ENOSYS);  // as an older kernel: mount(2) is used
  EXPECT_EQ(outcome(Profile::kNested, [] { return syscall(SYS_keyctl, 0, -3, 0); }), ENOSYS);
  EXPECT_EQ(outcome(Profile::kNested, [] { return syscall(SYS_bpf, -1, nullptr, 0); }), EPERM);
  EXPECT_EQ(outcome(Profile::kNested, [] { return syscall(SYS_msgget, 0, 0600); }), ENOSYS);
}

#if defined(__x86_64__)
TEST(GuestFilterTest, The32BitEntryIsKilled) {
  auto by_int80 = [] {
    long result = 20;  // getpid of i386
    asm volatile("int $0x80" : "+a"(result)::"memory", "r8", "r9", "r10", "r11");
    return result < 0 ? -1L : 0L;
  };
  for (const Profile profile : kProfiles)
    EXPECT_EQ(outcome(profile, by_int80), kKilledBase + SIGSYS) << to_string(profile);
  int without = outcome(std::nullopt, by_int80);
  EXPECT_NE(without, kKilledBase + SIGSYS);
  EXPECT_EQ(outcome(Profile::kDefault, [] { return syscall(0x40000000 + 39); }),
            ENOSYS);  // x32 getpid
}
#endif

// A process in the place of the keeper's entering child. It owns the user namespace, so it has all
// capabilities there, and its uid is not mapped there.
class ConfineTest : public testing::Test {
 protected:
  static constexpr uid_t kKeeper = 0x70001fff, kRange = 0x7fe00000;

  void SetUp() override {
    if (geteuid() != 0)
      GTEST_SKIP() << "needs root, to map a range of ids: run as root to test confine()";
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    holder_ = fork();
    if (holder_ == 0) {
      if (setresuid(kKeeper, kKeeper, kKeeper) != 0 || unshare(CLONE_NEWUSER) != 0) _exit(1);
      prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
      if (write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ready[1]);
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1) << "no user namespace here";
    close(ready[0]);
    std::string map = "0 " + std::to_string(kRange) + " 65536\n";
    for (const char* file : {"uid_map", "gid_map"}) {
      std::ofstream out("/proc/" + std::to_string(holder_) + "/" + file);
      out << map << std::flush;
      ASSERT_TRUE(out.good()) << file;
    }
  }
  void TearDown() override {
    if (holder_ > 0) {
      kill(holder_, SIGKILL);
      waitpid(holder_, nullptr, 0);
    }
  }

  // Returns what `body` prints on its pipe after confine() inside, or "<step>: <errno>".
  std::string inside(
      const Confinement& to, const std::function<void(int)>& body,
      const std::function<void()>& before = [] {}) {
    int out[2];
    EXPECT_EQ(pipe(out), 0);
    pid_t child = fork();
    if (child == 0) {
      std::string ns = "/proc/" + std::to_string(holder_) + "/ns/user";
      int fd = open(ns.c_str(), O_RDONLY | O_CLOEXEC);
      before();
      if (setresgid(kKeeper, kKeeper, kKeeper) != 0 || setresuid(kKeeper, kKeeper, kKeeper) != 0 ||
          setns(fd, CLONE_NEWUSER) != 0) {
        dprintf(out[1], "enter: %d", errno);
        _exit(1);
      }
      if (const char* step = confine(to))
        dprintf(out[1], "%s: %d", step, errno);
      else
        body(out[1]);
      _exit(0);
    }
    close(out[1]);
    std::string got;
    char buffer[4096];
    for (ssize_t n; (n = read(out[0], buffer, sizeof buffer)) > 0;)
      got.append(buffer, static_cast<std::size_t>(n));
    close(out[0]);
    waitpid(child, nullptr, 0);
    return got;
  }

  static void copy_status(int out) {
    char buffer[8192];
    int fd = open("/proc/self/status", O_RDONLY);
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;)
      if (write(out, buffer, static_cast<std::size_t>(n)) < 0) _exit(1);
  }

  pid_t holder_ = -1;
};

constexpr const char* kRootCaps = "00000000a00405fb";  // the 12 of confine.cc

TEST_F(ConfineTest, RootKeepsAShortListAndNothingElse) {
  std::string status = inside({.uid = 0, .gid = 0}, copy_status);
  for (const char* set : {"CapPrm:\t", "CapEff:\t", "CapBnd:\t"})
    EXPECT_NE(status.find(set + std::string(kRootCaps)), status.npos) << status;
  for (const char* set : {"CapInh:\t", "CapAmb:\t"})
    EXPECT_NE(status.find(set + std::string("0000000000000000")), status.npos) << status;
  EXPECT_NE(status.find("Uid:\t0\t0\t0\t0"), status.npos) << status;
  EXPECT_NE(status.find("NoNewPrivs:\t0"), status.npos);
  EXPECT_NE(status.find("Seccomp:\t2"), status.npos);
}

TEST_F(ConfineTest, RootOfStrictKeepsLessAndGainsNothing) {
  const std::string status = inside({.uid = 0, .gid = 0, .profile = Profile::kStrict}, copy_status);
  for (const char* set : {"CapPrm:\t", "CapEff:\t", "CapBnd:\t"}) {
    EXPECT_NE(status.find(set + std::string("00000000000004fb")), status.npos)
        << status;  // eight of the twelve
  }
  EXPECT_NE(status.find("NoNewPrivs:\t1"), status.npos) << status;
  EXPECT_NE(status.find("Seccomp:\t2"), status.npos) << status;
}

TEST_F(ConfineTest, RootOfNestedHasWhatDefaultsHas) {
  const std::string status = inside({.uid = 0, .gid = 0, .profile = Profile::kNested}, copy_status);
  EXPECT_NE(status.find("CapBnd:\t" + std::string(kRootCaps)), status.npos) << status;
  EXPECT_NE(status.find("NoNewPrivs:\t0"), status.npos) << status;
  // Mounting takes a user namespace of its own: in the sandbox's it has no CAP_SYS_ADMIN.
  const auto mounts = [](int out) {
    dprintf(out, "%s",
            mount("none", "/tmp", "tmpfs", 0, nullptr) == 0 ? "mounted" : strerrorname_np(errno));
  };
  EXPECT_EQ(inside({.uid = 0, .gid = 0, .profile = Profile::kNested}, mounts), "EPERM");
}

TEST_F(ConfineTest, AFileHelperOfRootsHasTheCapabilitiesOfFileWorkAlone) {
  const std::string status = inside({.uid = 0, .gid = 0, .file_helper = true}, copy_status);
  for (const char* set : {"CapPrm:\t", "CapEff:\t", "CapBnd:\t"})
    EXPECT_NE(status.find(set + std::string("000000000000001b")), status.npos)
        << status;  // CHOWN, DAC_OVERRIDE, FOWNER, FSETID
  EXPECT_NE(status.find("NoNewPrivs:\t1"), status.npos) << status;
  EXPECT_NE(status.find("Seccomp:\t2"), status.npos) << status;
  // Whatever the profile of the sandbox.
  const auto unshares = [](int out) {
    dprintf(out, "%s", unshare(CLONE_NEWUSER) == 0 ? "unshared" : strerrorname_np(errno));
  };
  EXPECT_EQ(
      inside({.uid = 0, .gid = 0, .profile = Profile::kNested, .file_helper = true}, unshares),
      "EPERM");
  EXPECT_EQ(inside({.uid = 0, .gid = 0, .profile = Profile::kNested}, unshares),
            "unshared");  // positive control: a command may
}

TEST_F(ConfineTest, AHelperThatWritesALayerMayGiveFilesCapabilitiesToo) {
  const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);  // it shall read its status
  const std::string status =
      inside({.uid = 0, .gid = 0, .file_helper = true, .layer_root_fd = root}, copy_status);
  close(root);
  for (const char* set : {"CapPrm:\t", "CapEff:\t", "CapBnd:\t"})
    EXPECT_NE(status.find(set + std::string("000000008000001b")), status.npos)
        << status;  // SETFCAP above
  EXPECT_NE(status.find("NoNewPrivs:\t1"), status.npos) << status;
  EXPECT_NE(status.find("Seccomp:\t2"), status.npos) << status;
}

TEST_F(ConfineTest, AFileHelperRunsNothing) {
  if (syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
    GTEST_SKIP() << "this kernel has no Landlock";
  const auto run = [](int out) {
    execl("/bin/true", "true", nullptr);
    dprintf(out, "%s", strerrorname_np(errno));
  };
  EXPECT_EQ(inside({.uid = 0, .gid = 0, .file_helper = true}, run), "EACCES");
  EXPECT_EQ(inside({.uid = 0, .gid = 0}, run), "");  // positive control: a command does
}

TEST_F(ConfineTest, OrdinaryUsersHaveNone) {
  const gid_t groups[] = {27, 100};
  Confinement to{
      .uid = 1000, .gid = 1000, .groups = groups, .group_count = 2, .profile = Profile::kStrict};
  std::string status = inside(to, copy_status);
  for (const char* set : {"CapPrm:\t", "CapEff:\t", "CapInh:\t", "CapAmb:\t"})
    EXPECT_NE(status.find(set + std::string("0000000000000000")), status.npos) << status;
  EXPECT_NE(status.find("Groups:\t"), status.npos);
  EXPECT_NE(status.find("NoNewPrivs:\t1"), status.npos);
}

TEST_F(ConfineTest, WhatTheParentHadDoesNotComeAlong) {
  auto spoil = [] {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    umask(0777);
    rlimit core{RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(RLIMIT_CORE, &core);
    core.rlim_cur = core.rlim_max;
    setrlimit(RLIMIT_CORE, &core);
  };
  std::string status = inside({}, copy_status, spoil);
  for (const char* set : {"SigBlk:\t", "SigIgn:\t", "SigCgt:\t"})
    EXPECT_NE(status.find(set + std::string("0000000000000000")), status.npos) << status;
  EXPECT_NE(status.find("Umask:\t0022"), status.npos) << status;
  std::string limits = inside(
      {},
      [](int out) {
        rlimit core{}, files{};
        getrlimit(RLIMIT_CORE, &core);
        getrlimit(RLIMIT_NOFILE, &files);
        dprintf(out, "%lu %lu %d", core.rlim_cur, core.rlim_max,
                files.rlim_cur == files.rlim_max && files.rlim_max <= 65536);
      },
      spoil);
  EXPECT_EQ(limits, "1 1 1");
}

TEST_F(ConfineTest, TheCoreLimitStaysAtOneWhateverIsSet) {
  const auto tried = [](int out) {
    rlimit none{0, 0}, old{7, 7}, now{7, 7};
    const int set = setrlimit(RLIMIT_CORE, &none);
    const long by_call = syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, nullptr);
    const long with_old = syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, &old);
    const int err = errno;
    // A pointer whose lower half is nothing.
    void* const high =
        mmap(reinterpret_cast<void*>(std::uintptr_t{1} << 45), sizeof none, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    const long by_high =
        high == MAP_FAILED ? -1 : syscall(SYS_prlimit64, 0, RLIMIT_CORE, high, nullptr);
    getrlimit(RLIMIT_CORE, &now);
    rlimit files{};
    const bool others =
        getrlimit(RLIMIT_NOFILE, &files) == 0 && setrlimit(RLIMIT_NOFILE, &files) == 0;
    dprintf(out, "%d %ld %ld %d %ld %lu %lu %d", set, by_call, with_old, err == EPERM, by_high,
            now.rlim_cur, now.rlim_max, others);
  };
  EXPECT_EQ(inside({}, tried), "0 0 -1 1 0 1 1 1");
  // The control: without the filter it is 0.
  int out[2];
  ASSERT_EQ(pipe(out), 0);
  const pid_t child = fork();
  if (child == 0) {
    tried(out[1]);
    _exit(0);
  }
  close(out[1]);
  char told[128] = {};
  EXPECT_GT(read(out[0], told, sizeof told - 1), 0);
  close(out[0]);
  waitpid(child, nullptr, 0);
  EXPECT_NE(std::string(told).find(" 0 0 1"), std::string::npos) << told;
}

TEST_F(ConfineTest, UnderANicedKeeperCommandsAreNicedToo) {
  const auto niced = [] { setpriority(PRIO_PROCESS, 0, 5); };
  const auto told = [](int out) {
    dprintf(out, "%d %d", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
  };
  EXPECT_EQ(inside({.scheduling = {.nice = 5}}, told, niced), "5 0");
  EXPECT_EQ(inside({.scheduling = {.nice = 7}}, told, niced), "7 0");
  // The guest has lowered its priority for good: the start fails, and is tried again.
  EXPECT_EQ(inside({}, told, niced), "reset priority: " + std::to_string(EACCES));
  const auto idle = [] {
    const sched_param none{};
    sched_setscheduler(0, SCHED_IDLE, &none);
  };
  EXPECT_EQ(inside({.scheduling = {.policy = SCHED_IDLE}}, told, idle),
            "0 " + std::to_string(SCHED_IDLE));
  EXPECT_EQ(inside({}, [](int out) { dprintf(out, "%d", own_scheduling().nice); }), "0");
}

TEST_F(ConfineTest, TheSignalsThatAKeeperChangedAreFound) {
  const auto bit = [](int number) { return SignalBits{1} << (number - 1); };
  const SignalBits before = changed_signals();
  const auto old = ::signal(SIGUSR2, SIG_IGN);
  EXPECT_EQ(changed_signals(), before | bit(SIGUSR2));
  ::signal(SIGUSR2, [](int) {});
  EXPECT_EQ(changed_signals(), before | bit(SIGUSR2));
  ::signal(SIGUSR2, old);
  EXPECT_EQ(changed_signals(), before);
  // These are all that is set back, and it is enough.
  const auto ignored = [](int out) { dprintf(out, "%d", changed_signals() == 0 ? 1 : 0); };
  const auto ignore = [] { ::signal(SIGUSR2, SIG_IGN); };
  EXPECT_EQ(inside({.changed_signals = before | bit(SIGUSR2)}, ignored, ignore), "1");
  EXPECT_EQ(inside({.changed_signals = before}, ignored, ignore), "0");
}

TEST_F(ConfineTest, ACommandMayRunOnAsManyCpusAsItsSandboxHas) {
  const auto count = [](int out) {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    dprintf(out, "%d", CPU_COUNT(&allowed));
  };
  const std::string all = inside({}, count);
  EXPECT_EQ(inside({.cpus = 1}, count), "1");
  EXPECT_EQ(inside({.cpus = 8192}, count), all);
  // The affinity that another process inside set does not stay.
  const auto narrowed = [] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  };
  EXPECT_EQ(inside({}, count, narrowed), all);
}

TEST_F(ConfineTest, RootCannotRaiseItsLimits) {
  std::string got = inside({}, [](int out) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    rlimit lower{files.rlim_max - 1, files.rlim_max - 1},
        higher{files.rlim_max + 1, files.rlim_max + 1};
    int down = setrlimit(RLIMIT_NOFILE, &lower);  // positive control
    int up = setrlimit(RLIMIT_NOFILE, &higher);
    dprintf(out, "%d %d %d", down, up, errno == EPERM);
  });
  EXPECT_EQ(got, "0 -1 1");
}

TEST_F(ConfineTest, TheCostIsSmall) {
  using Clock = std::chrono::steady_clock;
  std::string got = inside({}, [](int out) { dprintf(out, "ok"); });
  ASSERT_EQ(got, "ok");
  long best = 1'000'000;
  for (int i = 0; i < 20; ++i) {
    Clock::time_point start;
    int out[2];
    ASSERT_EQ(pipe(out), 0);
    std::string took = inside(
        {},
        [&start](int to) {
          auto spent = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
          dprintf(to, "%ld", static_cast<long>(spent.count()));
        },
        [&start] { start = Clock::now(); });
    best = std::min(best, std::stol(took));
    close(out[0]);
    close(out[1]);
  }
  std::printf("  confine() with setns: %ld us at best\n", best);
  EXPECT_LT(best, 2000);
}

}  // namespace
}  // namespace cay::keeper
