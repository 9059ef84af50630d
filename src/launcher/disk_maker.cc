#include "launcher/disk_maker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/process.h"
#include "wire/messages.h"

namespace cay::launcher {

Result<DiskMaker> DiskMaker::start(Host& host, const DiskPlan& plan) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe");
  DiskMaker maker;
  maker.words_ = UniqueFd(ends[0]);
  const UniqueFd out(ends[1]);
  const pid_t worker = ::getpid();
  CAY_TRY(os::Cloned child, os::clone_process(0));
  if (child.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != worker) ::_exit(1);
    auto made = plan.fresh ? host.disks.remove(plan.id) : Result<void>();
    if (made) made = host.disks.make(plan.id, plan.bytes, plan.origin);
    if (!made) {
      const Error& error = made.error();
      const std::string words = wire::encode(wire::ErrorMsg{
          static_cast<std::uint32_t>(error.code), error.reason, error.message, error.os_errno});
      (void)!::write(out.get(), words.data(), words.size());
    }
    ::_exit(made ? 0 : 1);
  }
  maker.pid_ = child.pid;
  maker.pidfd_ = std::move(child.pidfd);
  return maker;
}

bool DiskMaker::has_ended() const { return os::has_ended(pidfd_.get()); }

void DiskMaker::kill() const { os::kill_process(pidfd_.get()); }

Result<void> DiskMaker::result() {
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_ && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return {};
  char buffer[4096];
  const ssize_t size = ::read(words_.get(), buffer, sizeof buffer);
  const auto told =
      size > 0 ? wire::decode<wire::ErrorMsg>(std::string(buffer, static_cast<std::size_t>(size)))
               : std::nullopt;
  if (!told) return Error{Code::kInternal, "disk_failed", "the process that made the disk died", 0};
  return Error{static_cast<Code>(told->code), told->reason, told->message,
               static_cast<int>(told->os_errno)};
}

}  // namespace cay::launcher
