#include "launcher/sandbox_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "launcher/init_process.h"
#include "os/caps.h"
#include "os/file.h"
#include "os/process.h"

namespace cay::launcher {

void reset_process(const Host& host, const char* name, std::vector<int> kept) {
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  scrub_arguments(host.config.arguments, host.config.arguments_size, name);
  // The launcher's terminal or log must not be held open by every sandbox.
  for (int fd = 0; fd < 3; ++fd) {
    ::dup2(host.null.get(), fd);
    kept.push_back(fd);
  }
  os::close_all_but(std::move(kept));
  ::setsid();
  // Keyrings are in no namespace. The filter refuses all calls for them; behind it lies none of the
  // launcher's. If the kernel has none, or a container's filter refuses it, there is nothing to
  // inherit or reach.
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  ::umask(022);
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < SIGRTMAX; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{1, 1};  // at 0 one would go to a program of the host's (core(5))
  ::setrlimit(RLIMIT_CORE, &no_core);
}

Result<void> be_an_ordinary_victim() {
  return os::write_file(AT_FDCWD, "/proc/self/oom_score_adj", "0");
}

Result<void> become_keeper(uid_t uid) {
  if (::setgroups(0, nullptr) != 0) return Error::from_errno(errno, "setgroups");
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
    return Error::from_errno(errno, "keep capabilities");
  if (::setresgid(uid, uid, uid) != 0) return Error::from_errno(errno, "setresgid");
  if (::setresuid(uid, uid, uid) != 0) return Error::from_errno(errno, "setresuid");
  // CAP_SYS_ADMIN only for the clone: hosts that deny user namespaces to the unprivileged allow it
  // so.
  if (!os::set_capabilities(os::cap_bit(CAP_SYS_ADMIN) | os::cap_bit(CAP_SYS_CHROOT) |
                            os::cap_bit(CAP_SETPCAP))) {
    return Error::from_errno(errno, "reduce capabilities");
  }
  if (!os::drop_bounding_set()) return Error::from_errno(errno, "empty the bounding set");
  return {};
}

}  // namespace cay::launcher
