#include "launcher/init_filter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace cay::launcher {
namespace {

// The wait status of a child that does `work` behind the filter (or, as a control, without it).
template <typename Work>
int status_of(bool filtered, Work work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (filtered && !load_init_filter()) ::_exit(99);
    work();
    ::syscall(SYS_exit_group,
              7);  // not _exit(): under a sanitizer it makes more calls than init may
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

void expect_ended(int status) {
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 7) << status;
}

TEST(InitFilterTest, WhatInitDoesGoesOn) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  expect_ended(status_of(true, [&] {
    pollfd item{ends[0], POLLIN, 0};
    char byte = 0;
    if (::poll(&item, 1, 0) != 0 || ::read(ends[0], &byte, 1) != -1 ||
        ::waitpid(-1, nullptr, WNOHANG) != -1)
      ::syscall(SYS_exit_group, 1);
  }));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(InitFilterTest, AnythingElseKills) {
  const auto open_file = [] { (void)::syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY); };
  const auto ask_pid = [] { (void)::syscall(SYS_getpid); };
  const auto send_signal = [] { (void)::syscall(SYS_kill, 1 << 30, 0); };
  const auto clone_self = [] { (void)::syscall(SYS_clone, 1 << 30, 0, 0, 0, 0); };
  const auto expect_killed = [](auto call) {
    expect_ended(status_of(false, call));  // positive control: without the filter it goes on
    const int status = status_of(true, call);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), SIGSYS);
  };
  expect_killed(open_file);
  expect_killed(ask_pid);
  expect_killed(send_signal);
  expect_killed(clone_self);
}

}  // namespace
}  // namespace cay::launcher
