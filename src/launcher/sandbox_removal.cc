#include "launcher/sandbox_removal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "os/file.h"
#include "os/process.h"
#include "os/unix_socket.h"

namespace cay::launcher {
namespace {

constexpr std::size_t kQuickEntries = 64;  // more in a spool are removed by a child
constexpr std::uint64_t kQuickBytes = 64
                                      << 20;  // more takes the file system's time to free: the same

// Whether a spool directory takes too long to be removed by the launcher itself.
bool is_big(int spool) {
  const auto names = os::list_dir(spool);
  if (!names || names->size() > kQuickEntries) return true;
  std::uint64_t bytes = 0;
  for (const std::string& name : *names) {
    struct stat entry{};
    if (::fstatat(spool, name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(entry.st_mode)) {
      bytes += static_cast<std::uint64_t>(entry.st_blocks) * 512;
      continue;
    }
    const auto command = os::open_dir(spool, name);
    const auto files = command ? os::list_dir(command->get())
                               : Result<std::vector<std::string>>(std::vector<std::string>());
    if (!files || files->size() > kQuickEntries) return true;
    for (const std::string& file : *files) {
      struct stat info{};
      if (::fstatat(command->get(), file.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
    }
  }
  return bytes > kQuickBytes;
}

}  // namespace

Error SandboxRemoval::why_unfinished(const std::string& id, Left left) {
  if (left == Left::kFiles) {
    return {Code::kDeadlineExceeded, "removal_takes_long",
            "nothing of sandbox " + id +
                " runs any more, and its files are still being removed: that goes on by itself",
            0};
  }
  return {Code::kDeadlineExceeded, "end_takes_long",
          "sandbox " + id + " is killed, but the kernel still holds processes of it: retry", 0};
}

Result<SandboxRemoval::Left> SandboxRemoval::remove_traces(SandboxState& sandbox) {
  if (sandbox.maker) {
    sandbox.maker->kill();
    if (!sandbox.maker->has_ended()) return Left::kProcesses;
    (void)sandbox.maker->result();
    sandbox.maker.reset();
  }
  if (sandbox.pidfd && !os::has_ended(sandbox.pidfd.get())) return Left::kProcesses;
  if (sandbox.child != 0) {
    ::waitpid(sandbox.child, nullptr, WNOHANG);
    sandbox.child = 0;
  }
  CAY_TRY(const bool gone, host_.groups.remove(sandbox.id));
  if (!gone) {
    host_.groups.kill(sandbox.id);  // again: a clone may have slipped in before its parent died
    return Left::kProcesses;
  }
  stop_recording(sandbox);
  CAY_CHECK(os::unlink_as(host_.run.get(), sandbox.id + ".sock", host_.config.daemon_uid,
                          host_.config.daemon_gid));
  CAY_CHECK(os::unlink_as(host_.gate.get(), sandbox.id + ".sock", host_.config.gate_uid,
                          host_.config.gate_gid));
  if (sandbox.keep == SandboxState::Keep::kDisk) {
    if (!sandbox.record.alive) return Left::kNothing;
    sandbox.record.alive = false;
    CAY_CHECK(write_record(host_.sandboxes.get(), sandbox.id, sandbox.record));
    return Left::kNothing;
  }
  if (sandbox.has_record) {
    // From here on its files are no sandbox's: a launcher that starts amid this takes none for a
    // stopped one, and goes on.
    CAY_CHECK(forget_record(host_.sandboxes.get(), sandbox.id));
    sandbox.has_record = false;
  }
  if (sandbox.remover) {
    if (!os::has_ended(sandbox.remover.get())) return Left::kFiles;
    int status = 0;
    const bool known = ::waitpid(sandbox.remover_pid, &status, WNOHANG) == sandbox.remover_pid;
    sandbox.remover.reset();
    if (known && WIFSIGNALED(status))
      return Left::kFiles;  // much may be left: the next try starts another
  } else {
    const auto spool = os::open_dir(host_.spool.get(), sandbox.id);
    const bool big = (spool && is_big(spool->get())) ||
                     (!host_.disks.removal_is_quick() && host_.disks.exists(sandbox.id));
    if (big) {
      CAY_CHECK(start_remover(sandbox));
      return Left::kFiles;
    }
  }
  CAY_CHECK(host_.disks.remove(sandbox.id));
  for (const char* kind :
       {".net", ".net.new", ".log", ".log.new", ".log.old", ".questions", ".questions.new"}) {
    CAY_CHECK(os::unlink_as(host_.gate.get(), sandbox.id + kind, host_.config.gate_uid,
                            host_.config.gate_gid));
  }
  CAY_CHECK(os::remove_tree(host_.spool.get(), sandbox.id));
  CAY_CHECK(
      os::remove_tree(host_.sandboxes.get(), sandbox.id));  // last: it is what a restart goes by
  return Left::kNothing;
}

Result<void> SandboxRemoval::start_remover(SandboxState& sandbox) {
  const pid_t worker = ::getpid();
  CAY_TRY(os::Cloned child, os::clone_process(0));
  if (child.pid == 0) {
    // It ends with us: who ends the launcher finds nothing of it at work, and the next one starts
    // its own. No change of the effective uid, which would undo this, lies on its way.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != worker) ::_exit(1);
    (void)host_.disks.remove(sandbox.id);
    (void)os::remove_tree(host_.spool.get(), sandbox.id);
    ::_exit(0);
  }
  sandbox.remover = std::move(child.pidfd);
  sandbox.remover_pid = child.pid;
  return {};
}

void SandboxRemoval::stop_recording(SandboxState& sandbox) {
  Record& record = sandbox.record;
  programs_.untap({record.program_group, record.program_rings, record.program_states});
  record.program_group = 0;
  record.program_rings = record.program_states = 0;
}

}  // namespace cay::launcher
