#include "watcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "os/caps.h"

namespace cay::app {

void become_watcher(const char* name, UniqueFd daemon, std::uint64_t capabilities) {
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::signal(SIGCHLD, SIG_DFL);
  ::dup3(::open("/dev/null", O_RDWR | O_CLOEXEC), 0, 0);
  ::dup2(0, 1);
  const int pipe = daemon.release();  // open for as long as this process is
  if (pipe != kDaemonPipe) ::dup3(pipe, kDaemonPipe, O_CLOEXEC);
  ::syscall(SYS_close_range, kDaemonPipe + 1, ~0U, 0);
  // Where it was not given the right to do that (a container), it goes on with what it was given.
  if (::geteuid() == 0 && !os::give_up_all_but(capabilities)) std::fprintf(stderr, "cay: %s keeps its capabilities: %s\n", name, std::strerror(errno));
}

}  // namespace cay::app
