#include "keeper/filter_room.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "keeper/seccomp_filter.h"
#include "os/caps.h"
#include "os/process.h"

namespace cay::keeper {

Result<unsigned> try_guest_filters(Profile profile, unsigned most) {
  CAY_TRY(const os::Cloned child, os::clone_process(0));
  if (child.pid == 0) {
    unsigned taken = 0;
    if (os::set_capabilities(0) && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
      while (taken < most && load_guest_filter(profile) == 0) ++taken;
    }
    ::_exit(static_cast<int>(taken));
  }
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0) {
    if (errno != EINTR) return Error::from_errno(errno, "wait for a child that tries filters");
  }
  return WIFEXITED(status) ? static_cast<unsigned>(WEXITSTATUS(status)) : 0U;
}

Error no_filter_room() {
  return {Code::kUnavailable, "no_filter_room",
          "the host's kernel takes no further filter of system calls: its room for compiled ones "
          "is used up "
          "(net.core.bpf_jit_limit). "
          "Raise it, or end sandboxes; `cay doctor` reports what is left",
          0};
}

}  // namespace cay::keeper
