// The parts of os that need no privileges. The launcher's kernel tests hold the rest.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/testing/temp_dir.h"
#include "os/cgroup_layout.h"
#include "os/cgroup_procs.h"
#include "os/file.h"
#include "os/process.h"
#include "os/service_manager.h"
#include "os/unix_socket.h"

namespace cay::os {
namespace {

using cay::testing::TempDir;

TEST(CgroupLayoutTest, HybridHost) {
  const auto layout = cgroup_layout_of(
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:5 - cgroup cgroup "
      "rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(layout.v2, "/sys/fs/cgroup/unified");
  EXPECT_EQ(layout.memory, "/sys/fs/cgroup/memory");
  EXPECT_EQ(layout.cpu, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(layout.cpuacct, layout.cpu);
  EXPECT_EQ(layout.pids, "");
}

TEST(CgroupLayoutTest, PureV2Host) {
  const auto layout =
      cgroup_layout_of("30 24 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_EQ(layout.v2, "/sys/fs/cgroup");
  EXPECT_EQ(layout.memory, "");
}

TEST(CgroupLayoutTest, EscapedBlanksAndBrokenLines) {
  const auto layout =
      cgroup_layout_of("rubbish\n1 2 - cgroup2\n30 24 0:26 / /odd\\040dir rw - cgroup2 x rw\n");
  EXPECT_EQ(layout.v2, "/odd dir");
}

TEST(CgroupLayoutTest, OwnPath) {
  EXPECT_EQ(v2_path_of("8:pids:/\n0::/system.slice/cay.service\n"), "/system.slice/cay.service");
  EXPECT_EQ(v2_path_of("8:pids:/\n"), "");
}

TEST(CgroupProcsTest, PidsAreThoseThatHaveANumberHere) {
  EXPECT_EQ(pids_of("12\n7\n"), (std::vector<pid_t>{12, 7}));
  EXPECT_EQ(pids_of("0\n12"), std::vector<pid_t>{12})
      << "0: of another pid namespace, and to kill() our own group";
  EXPECT_TRUE(pids_of("").empty());
  EXPECT_TRUE(pids_of("-1\n1x\n \n99999999999\n").empty());
}

// A plain directory stands for the group: what is listed there is killed, and nothing else.
TEST(CgroupProcsTest, MembersAreKilledAndTheCallerIsNot) {
  const TempDir temp;
  const UniqueFd dir = temp.open();
  const auto start = [] {
    auto child = clone_process(0);
    while (child && child->pid == 0) ::pause();
    return child;
  };
  const auto member = start(), other = start();
  ASSERT_TRUE(member && other);
  const std::string listed = std::to_string(::getpid()) + "\n" + std::to_string(member->pid) + "\n";
  ASSERT_TRUE(replace_file(dir.get(), "cgroup.procs", listed, 0600));
  EXPECT_EQ(kill_members(dir.get()), 1U);
  int status = 0;
  ASSERT_EQ(::waitpid(member->pid, &status, 0), member->pid);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(has_ended(other->pidfd.get()));
  EXPECT_EQ(kill_members(dir.get()), 0U) << "its number is nobody's now";
  kill_process(other->pidfd.get());
  ::waitpid(other->pid, nullptr, 0);
}

TEST(ServiceManagerTest, IsToldWhereItListens) {
  const TempDir temp;
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(notify_service_manager("READY=1"));
  const UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = temp.path() + "/notify";
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  EXPECT_TRUE(notify_service_manager("READY=1"));
  char told[32] = {};
  EXPECT_EQ(::recv(manager.get(), told, sizeof told, MSG_DONTWAIT), 7);
  EXPECT_STREQ(told, "READY=1");
  ::unsetenv("NOTIFY_SOCKET");
}

class FileTest : public ::testing::Test {
 protected:
  const TempDir temp;
  const UniqueFd dir = temp.open();
};

TEST_F(FileTest, EnsureDirRefusesASymlink) {
  ASSERT_EQ(::symlinkat("/", dir.get(), "link"), 0);
  EXPECT_FALSE(ensure_dir(dir.get(), "link", ::getuid(), ::getgid(), 0700));
}

TEST_F(FileTest, EnsureDirRefusesAnotherOwner) {
  ASSERT_EQ(::mkdirat(dir.get(), "dir", 0700), 0);
  auto got = ensure_dir(dir.get(), "dir", ::getuid() + 1, ::getgid(), 0700);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "unsafe_directory");
}

TEST_F(FileTest, RemoveTreeFollowsNoLinks) {
  ASSERT_EQ(::mkdirat(dir.get(), "keep", 0700), 0);
  ASSERT_TRUE(replace_file(dir.get(), "keep-file", "x", 0600));
  ASSERT_EQ(::mkdirat(dir.get(), "gone", 0700), 0);
  ASSERT_EQ(::symlinkat("../keep", dir.get(), "gone/link"), 0);
  ASSERT_EQ(::mkdirat(dir.get(), "gone/deep", 0700), 0);
  ASSERT_EQ(::symlinkat("../../keep-file", dir.get(), "gone/deep/link"), 0);
  ASSERT_TRUE(remove_tree(dir.get(), "gone"));
  EXPECT_TRUE(remove_tree(dir.get(), "gone")) << "idempotent";
  auto left = list_dir(dir.get());
  ASSERT_TRUE(left);
  EXPECT_EQ(left->size(), 2U);
}

TEST_F(FileTest, RemoveTreeGoesAsDeepAsAGuestCan) {
  ASSERT_EQ(::mkdirat(dir.get(), "deep", 0700), 0);
  auto at = open_dir(dir.get(), "deep");
  ASSERT_TRUE(at);
  ASSERT_EQ(::mkdirat(at->get(), ".moved-up-0", 0700), 0) << "a name of ours, taken by the guest";
  for (int depth = 0; depth < 4400; ++depth) {
    ASSERT_EQ(::mkdirat(at->get(), "d", 0700), 0);
    at = open_dir(at->get(), "d");
    ASSERT_TRUE(at) << depth;
  }
  const auto removed = remove_tree(dir.get(), "deep");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(list_dir(dir.get())->size(), 0U);
}

TEST_F(FileTest, ReplaceFileIsReadBack) {
  ASSERT_TRUE(replace_file(dir.get(), "f", "one", 0600));
  ASSERT_TRUE(replace_file(dir.get(), "f", "two", 0600));
  auto text = read_file(dir.get(), "f");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "two");
}

TEST(ProcessTest, APidIsNotEnough) {
  auto cloned = clone_process(0);
  ASSERT_TRUE(cloned);
  if (cloned->pid == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto started = start_time_of(cloned->pid);
  EXPECT_GT(started, 0U);
  EXPECT_NE(state_of(cloned->pid), '\0');
  EXPECT_TRUE(open_process(cloned->pid, started));
  EXPECT_FALSE(open_process(cloned->pid, started + 1)) << "another process of the same pid";
  EXPECT_FALSE(has_ended(cloned->pidfd.get()));
  kill_process(cloned->pidfd.get());
  ASSERT_EQ(::waitpid(cloned->pid, nullptr, 0), cloned->pid);
  EXPECT_EQ(state_of(cloned->pid), '\0');
  EXPECT_TRUE(has_ended(cloned->pidfd.get()));
  EXPECT_FALSE(open_process(cloned->pid, started));
}

TEST(ProcessTest, CloseAllButKeepsWhatItIsTold) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int kept = ::fcntl(2, F_DUPFD_CLOEXEC, 50);
    const int lost = ::fcntl(2, F_DUPFD_CLOEXEC, 51);
    close_all_but({kept});
    ::_exit(::fcntl(kept, F_GETFD) >= 0 && ::fcntl(lost, F_GETFD) < 0 && ::fcntl(0, F_GETFD) < 0
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(UnixSocketTest, PassesDescriptors) {
  auto pair = socket_pair();
  ASSERT_TRUE(pair);
  int pipe_fds[2];
  ASSERT_EQ(::pipe2(pipe_fds, O_CLOEXEC), 0);
  const UniqueFd reader(pipe_fds[0]);
  UniqueFd writer(pipe_fds[1]);
  ASSERT_TRUE(send_message(pair->ours.get(), "hello", {writer.get()}));
  auto got = receive_message(pair->theirs.get());
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, "hello");
  ASSERT_EQ(got->fds.size(), 1U);
  writer.reset();
  ASSERT_EQ(::write(got->fds[0].get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 1);
  pair->ours.reset();
  auto gone = receive_message(pair->theirs.get());
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->bytes, "");
}

TEST(UnixSocketTest, ListensWithMode0600UnderALongPath) {
  const TempDir temp;
  std::string at = ".";
  UniqueFd dir = temp.open();
  for (int depth = 0; depth < 4; ++depth) {
    auto next = ensure_dir(dir.get(), std::string(60, 'd'), ::getuid(), ::getgid(), 0700);
    ASSERT_TRUE(next);
    dir = std::move(*next);
  }
  ASSERT_TRUE(listen_unix(dir.get(), "s.sock", ::getuid(), ::getgid()));
  struct stat info{};
  ASSERT_EQ(::fstatat(dir.get(), "s.sock", &info, 0), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_TRUE(S_ISSOCK(info.st_mode));
  EXPECT_TRUE(unlink_as(dir.get(), "s.sock", ::getuid(), ::getgid()));
}

TEST(ProcessTest, ClosedStandardStreamsAreFilled) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    fill_standard_streams();
    char byte = 0;
    int wrong = 0;
    if (::read(0, &byte, 1) != 0) wrong |= 1;                    // at its end
    if (::write(1, "x", 1) != -1 || errno != EBADF) wrong |= 2;  // fails as a closed one does
    if (::write(2, "x", 1) != 1) wrong |= 4;                     // goes nowhere
    if (::open("/dev/null", O_RDONLY) < 3) wrong |= 8;  // and nothing else takes their numbers
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ProcessTest, OpenStandardStreamsStayAsTheyAre) {
  struct stat before[3]{};
  struct stat after[3]{};
  for (const int fd : {0, 1, 2}) ASSERT_EQ(::fstat(fd, &before[fd]), 0);
  fill_standard_streams();
  for (const int fd : {0, 1, 2}) {
    ASSERT_EQ(::fstat(fd, &after[fd]), 0);
    EXPECT_EQ(before[fd].st_ino, after[fd].st_ino);
  }
}

}  // namespace
}  // namespace cay::os
