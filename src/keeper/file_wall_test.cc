// The file helpers' wall: each refusal with a positive control, the same act in the same place
// without it.
#include "keeper/file_wall.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace cay::keeper {
namespace {

class FileWallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    abi_ = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi_ < 1)
      GTEST_SKIP() << "this kernel has no Landlock: file helpers have one wall less here";
    ASSERT_EQ(::chdir(place_.path().c_str()), 0);
  }

  // The errno of `act` in a child, 0 for success; behind the wall or without it.
  static int outcome(bool walled, const std::function<long()>& act) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (walled && (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || build_file_wall() != 0))
        ::_exit(255);
      errno = 0;
      ::_exit(act() < 0 ? errno : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  static void expect_refused(const char* what, int with, const std::function<long()>& act) {
    EXPECT_EQ(outcome(true, act), with) << what;
    EXPECT_EQ(outcome(false, act), 0) << what << ", without the wall";
  }
  static sockaddr_in loopback(int port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
  }

  long abi_ = 0;
  const cay::testing::TempDir place_;
};

TEST_F(FileWallTest, FileWorkGoesOn) {
  EXPECT_EQ(outcome(true,
                    [] {
                      const bool done = ::mkdir("d", 0755) == 0 &&
                                        ::close(::open("d/f", O_CREAT | O_RDWR, 0644)) == 0 &&
                                        ::symlink("f", "d/l") == 0 && ::truncate("d/f", 10) == 0 &&
                                        ::rename("d/f", "g") == 0 && ::chmod("g", 0600) == 0 &&
                                        ::unlink("d/l") == 0 && ::rmdir("d") == 0;
                      return done ? 0L : -1L;
                    }),
            0);
}

TEST_F(FileWallTest, NothingIsExecuted) {
  expect_refused("execve", EACCES,
                 [] { return static_cast<long>(::execl("/bin/true", "true", nullptr)); });
}

TEST_F(FileWallTest, NoFifoSocketOrDeviceIsMade) {
  expect_refused("FIFO", EACCES,
                 [] { return static_cast<long>(::mknod("fifo", S_IFIFO | 0600, 0)); });
  expect_refused("socket", EACCES, [] {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::snprintf(at.sun_path, sizeof at.sun_path, "socket");
    return static_cast<long>(::bind(::socket(AF_UNIX, SOCK_STREAM, 0),
                                    reinterpret_cast<const sockaddr*>(&at), sizeof at));
  });
  if (::geteuid() == 0)
    expect_refused("device", EACCES, [] {
      return static_cast<long>(::mknod("null", S_IFCHR | 0600, makedev(1, 3)));
    });
}

TEST_F(FileWallTest, ALayersWriterWorksBelowItsRootAlone) {
  ASSERT_EQ(::mkdir("root", 0755), 0);
  ASSERT_EQ(::close(::open("beside", O_CREAT | O_RDWR, 0644)), 0);
  const auto behind = [](const std::function<long()>& act) {
    const pid_t child = ::fork();
    if (child == 0) {
      const int root = ::open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || build_file_wall(root) != 0) ::_exit(255);
      errno = 0;
      ::_exit(act() < 0 ? errno : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  };
  EXPECT_EQ(behind([] {
              const bool done = ::mkdir("root/d", 0755) == 0 &&
                                ::mknod("root/d/fifo", S_IFIFO | 0600, 0) == 0 &&
                                ::close(::open("root/f", O_CREAT | O_RDWR, 0644)) == 0 &&
                                ::symlink("f", "root/l") == 0;
              return done ? 0L : -1L;
            }),
            0);
  EXPECT_EQ(behind([] { return static_cast<long>(::open("beside", O_RDONLY)); }), EACCES);
  EXPECT_EQ(behind([] { return static_cast<long>(::open("other", O_CREAT | O_RDWR, 0600)); }),
            EACCES);
  EXPECT_EQ(behind([] { return static_cast<long>(::unlink("beside")); }), EACCES);
  EXPECT_EQ(behind([] { return static_cast<long>(::execl("/bin/true", "true", nullptr)); }),
            EACCES);
}

TEST_F(FileWallTest, TcpGoesNowhere) {
  if (abi_ < 4) GTEST_SKIP() << "this kernel's Landlock knows no network";
  expect_refused("bind", EACCES, [] {
    const auto at = loopback(0);
    return static_cast<long>(::bind(::socket(AF_INET, SOCK_STREAM, 0),
                                    reinterpret_cast<const sockaddr*>(&at), sizeof at));
  });
  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  auto at = loopback(0);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(server, reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(server, 4), 0);
  ASSERT_EQ(::getsockname(server, reinterpret_cast<sockaddr*>(&at), &size), 0);
  expect_refused("connect", EACCES, [at] {
    return static_cast<long>(::connect(::socket(AF_INET, SOCK_STREAM, 0),
                                       reinterpret_cast<const sockaddr*>(&at), sizeof at));
  });
  ::close(server);
}

TEST_F(FileWallTest, OthersAreNotSignalled) {
  if (abi_ < 6) GTEST_SKIP() << "this kernel's Landlock knows no signals";
  const pid_t other = ::fork();
  if (other == 0) {
    for (;;) ::pause();
  }
  expect_refused("kill", EPERM, [other] { return static_cast<long>(::kill(other, 0)); });
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace cay::keeper
