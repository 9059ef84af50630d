#include "gate/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"
#include "gate/resolver.h"
#include "os/landlock.h"

namespace cay::gate {
namespace {

class ConfinementTest : public ::testing::Test {
 protected:
  // Returns how `work` ends in a child (0: all is well), confined or not.
  template <class Work>
  int in_child(bool confined, Work work) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      if (confined && !confine(directory_.get(), -1)) ::_exit(99);
      const int code = work();
      ::syscall(SYS_exit_group, code);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
  }

  const cay::testing::TempDir temp_;
  const UniqueFd directory_ = temp_.open();
};

TEST_F(ConfinementTest, FilesOfOthersCannotBeOpenedAndItsOwnCan) {
  if (os::landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string other = temp_.path() + "-other";
  const UniqueFd made(::open(other.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const auto read_other = [&] {
    return UniqueFd(::open(other.c_str(), O_RDONLY | O_CLOEXEC)) ? 0 : errno;
  };
  EXPECT_EQ(in_child(false, read_other), 0);
  EXPECT_EQ(in_child(true, read_other), EACCES);
  const auto write_own = [&] {
    const UniqueFd fd(
        ::openat(directory_.get(), "a.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd || ::write(fd.get(), "x", 1) != 1) return errno;
    if (::renameat2(directory_.get(), "a.new", directory_.get(), "a", 0) != 0) return errno;
    return ::unlinkat(directory_.get(), "a", 0) == 0 ? 0 : errno;
  };
  EXPECT_EQ(in_child(true, write_own), 0);
  ::unlink(other.c_str());
}

TEST_F(ConfinementTest, CallsThatItDoesNotNeedAreNotThere) {
  const auto unix_socket = [] {
    return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) ? 0 : errno;
  };
  const auto execute = [] {
    char* const none[] = {nullptr};
    return ::execve("/nonexistent/program", none, none) == 0 ? 0 : errno;
  };
  const auto split = [] {
    const pid_t child = ::fork();
    if (child == 0) ::syscall(SYS_exit_group, 0);
    return child > 0 ? 0 : errno;
  };
  EXPECT_EQ(in_child(false, unix_socket), 0);
  EXPECT_EQ(in_child(true, unix_socket), ENOSYS);
  EXPECT_EQ(in_child(false, execute), ENOENT);
  EXPECT_EQ(in_child(true, execute), ENOSYS);
  EXPECT_EQ(in_child(false, split), 0);
  EXPECT_EQ(in_child(true, split), ENOSYS);
}

// A pipe's owner is sent the signal that was chosen for it, by the kernel: as good as kill(2).
TEST_F(ConfinementTest, NoSignalIsSentByADescriptor) {
  const auto victim_dies = [this](bool confined) {
    const pid_t victim = ::fork();
    if (victim == 0) {
      for (;;) ::pause();
    }
    const int refused = in_child(confined, [victim] {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) return 98;
      int last = 0;
      for (const auto& [command, argument] : {std::pair{F_SETOWN, static_cast<int>(victim)},
                                              {F_SETSIG, SIGKILL},
                                              {F_SETFL, O_ASYNC | O_NONBLOCK}}) {
        if (::fcntl(ends[0], command, argument) == 0) continue;
        if (last != 0 && last != errno) return 97;
        last = errno;
      }
      f_owner_ex owner{F_OWNER_PID, victim};
      if (::fcntl(ends[0], F_SETOWN_EX, &owner) != 0 && last != errno) return 96;
      return ::write(ends[1], "x", 1) == 1 ? last : 95;
    });
    EXPECT_EQ(refused, confined ? ENOSYS : 0);
    // Ours comes after the kernel's, which the write has sent.
    ::kill(victim, SIGTERM);
    int status = 0;
    ::waitpid(victim, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  };
  EXPECT_TRUE(victim_dies(false));
  EXPECT_FALSE(victim_dies(true));
}

TEST_F(ConfinementTest, DescriptorsAreStillMadeNonBlockingAndCopied) {
  EXPECT_EQ(in_child(true,
                     [] {
                       int ends[2];
                       if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
                       if (::fcntl(ends[0], F_SETFL, ::fcntl(ends[0], F_GETFL) | O_NONBLOCK) != 0)
                         return errno;
                       if (::fcntl(ends[0], F_SETFD, FD_CLOEXEC) != 0 ||
                           ::fcntl(ends[0], F_GETFD) != FD_CLOEXEC)
                         return errno;
                       return ::fcntl(ends[0], F_DUPFD_CLOEXEC, 0) >= 0 &&
                                      ::fcntl(ends[0], F_SETPIPE_SZ, 4096) > 0
                                  ? 0
                                  : errno;
                     }),
            0);
}

TEST_F(ConfinementTest, OtherProtocolsOfTheSameTypesAreNotThere) {
  const auto has = [](int family, int type, int protocol) {
    return [=] { return UniqueFd(::socket(family, type | SOCK_CLOEXEC, protocol)) ? 0 : errno; };
  };
  for (const int family : {AF_INET, AF_INET6}) {
    EXPECT_EQ(in_child(true, has(family, SOCK_STREAM, IPPROTO_SCTP)), ENOSYS);
    EXPECT_EQ(in_child(true, has(family, SOCK_STREAM, IPPROTO_MPTCP)), ENOSYS);
    EXPECT_EQ(in_child(true, has(family, SOCK_STREAM, 256)), ENOSYS) << "SMC";
    EXPECT_EQ(in_child(true, has(family, SOCK_DGRAM, 115)), ENOSYS) << "L2TP";
    EXPECT_EQ(in_child(true, has(family, SOCK_DGRAM, IPPROTO_ICMP)), ENOSYS);
    EXPECT_EQ(in_child(true, has(family, SOCK_DGRAM, IPPROTO_UDPLITE)), ENOSYS);
    EXPECT_NE(in_child(false, has(family, SOCK_STREAM, IPPROTO_SCTP)), ENOSYS);
    for (const int protocol : {0, static_cast<int>(IPPROTO_TCP)})
      EXPECT_NE(in_child(true, has(family, SOCK_STREAM, protocol)), ENOSYS);
    for (const int protocol : {0, static_cast<int>(IPPROTO_UDP)})
      EXPECT_NE(in_child(true, has(family, SOCK_DGRAM, protocol)), ENOSYS);
  }
}

TEST_F(ConfinementTest, PortsCannotBeChosenAndRoutesCanBeAskedFor) {
  const auto port = [](int type) {
    return [type] {
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const UniqueFd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
      if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(sockaddr_nl)) != -1 ||
          (errno != EINVAL))
        return 98;
      return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ? 0 : errno;
    };
  };
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    EXPECT_EQ(in_child(false, port(type)), 0);
    EXPECT_EQ(in_child(true, port(type)), ENOSYS);
  }
  EXPECT_EQ(
      in_child(true,
               [] {
                 sockaddr_nl at{};
                 at.nl_family = AF_NETLINK;
                 const UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
                 return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0
                            ? 0
                            : errno;
               }),
      0);
}

// A pointer of which the low word is 0 is none that is null.
TEST_F(ConfinementTest, LimitsAreNotSetByWhatLooksLikeNoPointer) {
  const auto set = [] {
    void* const wanted = reinterpret_cast<void*>(std::uintptr_t{1} << 45);
    void* const page = ::mmap(wanted, sizeof(rlimit), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page != wanted || ::getrlimit(RLIMIT_CORE, static_cast<rlimit*>(page)) != 0) return 98;
    return ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, page, nullptr) == 0 ? 0 : errno;
  };
  EXPECT_EQ(in_child(false, set), 0);
  EXPECT_EQ(in_child(true, set), ENOSYS);
}

TEST_F(ConfinementTest, ThreadsNamesAndDialsGoOn) {
  EXPECT_EQ(in_child(true,
                     [] {
                       int found = 1;
                       std::thread other([&] {
                         found = look_up("localhost").outcome == Resolved::Outcome::kFound ? 0 : 2;
                       });
                       other.join();
                       const UniqueFd fd(
                           ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
                       return fd ? found : 3;
                     }),
            0);
}

}  // namespace
}  // namespace cay::gate
