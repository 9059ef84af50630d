// A tracer that never waits, against a child of ours.
#include "keeper/tracer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cay::keeper {
namespace {

bool has_exited(pid_t pid, int options) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | options) == 0 &&
         info.si_pid == pid;
}

TEST(TracerTest, AHiddenEndIsBroughtToLight) {
  int go[2], ready[2];
  ASSERT_EQ(pipe(go), 0);
  ASSERT_EQ(pipe(ready), 0);
  char byte = 0;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    close(go[1]);
    if (read(go[0], &byte, 1) != 1) _exit(1);
    _exit(7);
  }
  const pid_t tracer = fork();
  if (tracer == 0) {
    close(go[1]);  // or it would keep a dying test's child waiting
    const bool seized = ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
    byte = seized ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  if (byte != 'y') {
    kill(tracer, SIGKILL);
    kill(child, SIGKILL);
    while (wait(nullptr) > 0) {
    }
    GTEST_SKIP() << "tracing is refused here";
  }
  EXPECT_FALSE(kill_tracer_of_dead(-1, child));  // it lives: a debugger at work is left alone
  ASSERT_EQ(write(go[1], "x", 1), 1);
  bool killed = false;
  while (!killed) killed = kill_tracer_of_dead(-1, child);  // as soon as the child is dead
  EXPECT_TRUE(has_exited(child, 0));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);  // its own end, unchanged
  waitpid(tracer, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  for (int fd : {go[0], go[1], ready[0], ready[1]}) close(fd);
}

TEST(TracerTest, WithoutATracerNothingHappens) {
  EXPECT_FALSE(kill_tracer_of_dead(-1, getpid()));
  EXPECT_FALSE(kill_tracer_of_dead(-1, 0x3fffffff));
}

}  // namespace
}  // namespace cay::keeper
