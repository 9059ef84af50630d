#include "launcher/sandbox_removal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
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

constexpr int kTriesForEvents = 2;  // at the kill, and at the keeper's end

// Removes a spool of a few small files: commands' directories with their files. False: it takes too
// long for the launcher itself, and what is left of it stays.
Result<bool> remove_small_spool(int parent, const std::string& id) {
  auto spool = os::open_dir(parent, id);
  if (!spool && spool.error().os_errno == ENOENT) return true;
  if (!spool) return std::move(spool).error();
  CAY_TRY(const auto names, os::list_dir(spool->get()));
  if (names.size() > kQuickEntries) return false;
  std::uint64_t bytes = 0;
  const auto remove_file = [&bytes](int dir, const std::string& name) {
    struct stat info{};
    if (::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (S_ISDIR(info.st_mode)) return false;
    bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
    return bytes <= kQuickBytes && ::unlinkat(dir, name.c_str(), 0) == 0;
  };
  for (const std::string& name : names) {
    const auto command = os::open_dir(spool->get(), name);
    if (!command) {
      if (!remove_file(spool->get(), name)) return false;
      continue;
    }
    CAY_TRY(const auto files, os::list_dir(command->get()));
    if (files.size() > kQuickEntries) return false;
    for (const std::string& file : files) {
      if (!remove_file(command->get(), file)) return false;
    }
    if (::unlinkat(spool->get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return false;
  }
  return ::unlinkat(parent, id.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
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

void SandboxRemoval::kill(SandboxState& sandbox) {
  const auto keeper =
      sandbox.child != 0 ? sandbox.child : static_cast<pid_t>(sandbox.record.keeper_pid);
  const std::vector<pid_t> others = host_.groups.pids_beside(sandbox.id, keeper);
  if (!others.empty()) {
    sandbox.init = os::pidfd_of(others.front());
    if (sandbox.keep == SandboxState::Keep::kNothing) {
      const std::string root = "/proc/" + std::to_string(others.front()) + "/root";
      late_.keep(UniqueFd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
    }
  }
  host_.groups.kill(sandbox.id);
  if (sandbox.pidfd) os::kill_process(sandbox.pidfd.get());
}

bool SandboxRemoval::is_awaited(const SandboxState& sandbox) {
  return (sandbox.pidfd && !os::has_ended(sandbox.pidfd.get())) ||
         (sandbox.init && !os::has_ended(sandbox.init.get()));
}

Result<SandboxRemoval::Left> SandboxRemoval::remove_traces(SandboxState& sandbox) {
  if (sandbox.maker) {
    sandbox.maker->kill();
    if (!sandbox.maker->has_ended()) return Left::kProcesses;
    (void)sandbox.maker->result();
    sandbox.maker.reset();
  }
  if (sandbox.pidfd && !os::has_ended(sandbox.pidfd.get())) return Left::kProcesses;
  // Until its init has ended its groups are busy. A look all the same after some time.
  if (sandbox.tries <= kTriesForEvents && is_awaited(sandbox)) return Left::kProcesses;
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
  const std::vector<std::string> socket{sandbox.id + ".sock"};
  CAY_CHECK(
      os::unlink_as(host_.run.get(), socket, host_.config.daemon_uid, host_.config.daemon_gid));
  CAY_CHECK(os::unlink_as(host_.gate.get(), socket, host_.config.gate_uid, host_.config.gate_gid));
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
    CAY_CHECK(os::remove_tree(host_.spool.get(), sandbox.id));
  } else {
    const bool quick = host_.disks.removal_is_quick() || !host_.disks.exists(sandbox.id);
    const auto removed =
        quick ? remove_small_spool(host_.spool.get(), sandbox.id) : Result<bool>(false);
    if (!removed || !*removed) {
      CAY_CHECK(start_remover(sandbox));
      return Left::kFiles;
    }
  }
  CAY_CHECK(host_.disks.remove(sandbox.id));
  std::vector<std::string> of_gate;
  for (const char* kind :
       {".net", ".net.new", ".log", ".log.new", ".log.old", ".questions", ".questions.new"}) {
    of_gate.push_back(sandbox.id + kind);
  }
  CAY_CHECK(os::unlink_as(host_.gate.get(), of_gate, host_.config.gate_uid, host_.config.gate_gid));
  // Last: it is what a restart goes by. It is empty now, as a rule.
  if (::unlinkat(host_.sandboxes.get(), sandbox.id.c_str(), AT_REMOVEDIR) != 0) {
    CAY_CHECK(os::remove_tree(host_.sandboxes.get(), sandbox.id));
  }
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
