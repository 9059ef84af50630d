/* called PROGRAM [ARGUMENT…]: prints the numbers of the system calls that it and all that it
   starts make, one a line, in the order of their numbers. On descriptor 9, so that the program's
   own output is its own. A thread that is cloned to stay unwatched (LeakSanitizer's) is watched all
   the same, on x86-64. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 1024

static void keep_watched(pid_t one, const struct __ptrace_syscall_info *info) {
#ifdef __x86_64__
  if (info->entry.nr == SYS_clone && info->entry.args[0] & CLONE_UNTRACED)
    ptrace(PTRACE_POKEUSER, one, offsetof(struct user, regs.rdi),
           info->entry.args[0] & ~(unsigned long long)CLONE_UNTRACED);
#else
  (void)one, (void)info;
#endif
}

int main(int argc, char **argv) {
  static char seen[MOST];
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  pid_t child, one;
  int status, last = 0;
  (void)argc;
  child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  waitpid(child, &status, 0);
  if (ptrace(PTRACE_SETOPTIONS, child, 0, options) != 0) return 126;
  ptrace(PTRACE_SYSCALL, child, 0, 0);
  while ((one = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
    int give = 0;
    if (one < 0) continue;
    if (!WIFSTOPPED(status)) {
      if (one == child) last = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      struct __ptrace_syscall_info info;
      if (ptrace(PTRACE_GET_SYSCALL_INFO, one, sizeof info, &info) > 0 &&
          info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr < MOST) {
        seen[info.entry.nr] = 1;
        keep_watched(one, &info);
      }
    } else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP && WSTOPSIG(status) != SIGTRAP) {
      give = WSTOPSIG(status);
    }
    ptrace(PTRACE_SYSCALL, one, 0, give);
  }
  for (int number = 0; number < MOST; ++number)
    if (seen[number]) dprintf(9, "%d\n", number);
  return last;
}
