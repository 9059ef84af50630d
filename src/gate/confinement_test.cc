#include "gate/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/unique_fd.h"
#include "gate/resolver.h"
#include "os/file.h"
#include "os/landlock.h"

namespace cay::gate {
namespace {

class ConfinementTest : public ::testing::Test {
 protected:
  ConfinementTest() {
    char path[] = "/tmp/cay-confinement-XXXXXX";
    path_ = ::mkdtemp(path);
    directory_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~ConfinementTest() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, path_)); }

  // What `work` (0: all is well) ends with in a child, confined or as it is.
  template <class Work>
  int in_child(bool confined, Work work) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      if (confined && !confine(directory_.get())) ::_exit(99);
      const int code = work();
      ::syscall(SYS_exit_group, code);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
  }

  std::string path_;
  UniqueFd directory_;
};

TEST_F(ConfinementTest, FilesOfOthersCannotBeOpenedAndItsOwnCan) {
  if (os::landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string other = path_ + "-other";
  const UniqueFd made(::open(other.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const auto read_other = [&] { return UniqueFd(::open(other.c_str(), O_RDONLY | O_CLOEXEC)) ? 0 : errno; };
  EXPECT_EQ(in_child(false, read_other), 0);
  EXPECT_EQ(in_child(true, read_other), EACCES);
  const auto write_own = [&] {
    const UniqueFd fd(::openat(directory_.get(), "a.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd || ::write(fd.get(), "x", 1) != 1) return errno;
    if (::renameat2(directory_.get(), "a.new", directory_.get(), "a", 0) != 0) return errno;
    return ::unlinkat(directory_.get(), "a", 0) == 0 ? 0 : errno;
  };
  EXPECT_EQ(in_child(true, write_own), 0);
  ::unlink(other.c_str());
}

TEST_F(ConfinementTest, CallsThatItDoesNotNeedAreNotThere) {
  const auto unix_socket = [] { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) ? 0 : errno; };
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

TEST_F(ConfinementTest, ThreadsNamesAndDialsGoOn) {
  EXPECT_EQ(in_child(true, [] {
    int found = 1;
    std::thread other([&] { found = look_up("localhost").outcome == Resolved::Outcome::kFound ? 0 : 2; });
    other.join();
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return fd ? found : 3;
  }), 0);
}

}  // namespace
}  // namespace cay::gate
