#include "launcher/host.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "launcher/gate_directory.h"
#include "launcher/guest_clocks.h"
#include "launcher/kernel_view.h"
#include "os/file.h"

namespace cay::launcher {
namespace {

// Directories on the way are the operator's; the last one must be ours alone.
Result<UniqueFd> open_runtime_dir(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) {
    return Error{Code::kInvalidArgument, "bad_runtime_dir",
                 "the runtime directory must be two levels deep", 0};
  }
  CAY_TRY(const UniqueFd parent, os::open_dir(AT_FDCWD, path.substr(0, slash)));
  return os::ensure_dir(parent.get(), path.substr(slash + 1), 0, 0, 0711);
}

// DATA itself is the daemon's; what root trusts in it must be root's own (os::ensure_dir checks).
Result<void> open_data(Host& host) {
  const Config& config = host.config;
  CAY_TRY(host.data, os::open_dir(AT_FDCWD, config.data));
  struct stat info{};
  if (::fstat(host.data.get(), &info) != 0) return Error::from_errno(errno, "stat " + config.data);
  if (info.st_uid != config.daemon_uid && info.st_uid != 0) {
    return Error{Code::kPermissionDenied, "unsafe_directory",
                 config.data + " belongs to uid " + std::to_string(info.st_uid) +
                     ", not to the daemon's uid " + std::to_string(config.daemon_uid),
                 0};
  }
  CAY_TRY(host.run,
          os::ensure_dir(host.data.get(), "run", config.daemon_uid, config.daemon_gid, 0700));
  CAY_TRY(host.gate, open_gate_directory(host.data.get(), config.gate_uid, config.daemon_gid));
  CAY_TRY(host.sandboxes, os::ensure_dir(host.data.get(), "sandboxes", 0, 0, 0700));
  CAY_TRY(host.layers, os::ensure_dir(host.data.get(), "layers", 0, 0, 0700));
  CAY_TRY(host.spool, os::ensure_dir(host.data.get(), "spool", 0, 0, 0711));
  return {};
}

Result<void> take_lock(Host& host) {
  host.lock = UniqueFd(
      ::openat(host.sandboxes.get(), ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!host.lock) return Error::from_errno(errno, "open the launcher's lock");
  if (::flock(host.lock.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return Error::from_errno(errno, "lock the data directory");
  return Error{Code::kAlreadyExists, "launcher_runs", "another launcher serves " + host.config.data,
               0};
}

Result<void> leave_mount_namespace() {
  if (::unshare(CLONE_NEWNS) != 0) return Error::from_errno(errno, "unshare the mount namespace");
  // The host's later mounts and unmounts still reach us; ours never reach the host.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return Error::from_errno(errno, "make our mounts our own");
  }
  return {};
}

// One for all keepers: nothing in it is up, and they hold no capability over it.
Result<UniqueFd> make_empty_network() {
  const UniqueFd own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!own) return Error::from_errno(errno, "open our network namespace");
  if (::unshare(CLONE_NEWNET) != 0)
    return Error::from_errno(errno, "make a network namespace for keepers");
  UniqueFd made(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  const int err = errno;
  if (::setns(own.get(), CLONE_NEWNET) != 0)
    return Error::from_errno(errno, "go back to our network namespace");
  if (!made) return Error::from_errno(err, "open the network namespace for keepers");
  return made;
}

}  // namespace

Result<Host> Host::open(Config config) {
  Host host;
  host.config = std::move(config);
  host.oom = OomWatch::begin();  // it works while we do
  CAY_TRY(host.boot_id, os::read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64));
  while (!host.boot_id.empty() && host.boot_id.back() == '\n') host.boot_id.pop_back();
  CAY_TRY(const UniqueFd proc, os::open_dir(AT_FDCWD, "/proc"));
  CAY_TRY(host.covered_proc, covered_proc_names(proc.get()));
  host.own_clocks = has_own_clocks();
  CAY_TRY(host.cpus, HostCpus::read());
  host.null = UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!host.null) return Error::from_errno(errno, "open /dev/null");
  CAY_TRY(host.no_network, make_empty_network());
  CAY_CHECK(open_data(host));
  CAY_CHECK(take_lock(host));
  CAY_TRY(const UniqueFd runtime, open_runtime_dir(host.config.runtime_dir));
  CAY_TRY(UniqueFd slots, os::ensure_dir(runtime.get(), "slots", 0, 0, 0700));
  host.slots = Slots(std::move(slots));
  CAY_CHECK(leave_mount_namespace());
  // Opened after that: descriptors must lie in the namespace that keepers inherit.
  CAY_CHECK(open_data(host));
  host.empty_path = host.config.runtime_dir + "/empty";
  CAY_TRY(const UniqueFd runtime_inside, open_runtime_dir(host.config.runtime_dir));
  CAY_TRY(host.empty, os::ensure_dir(runtime_inside.get(), "empty", 0, 0, 0555));
  CAY_TRY(host.groups, Groups::open(host.config.instance, host.config.cgroup_parent));
  CAY_TRY(host.disks, Disks::open(host.data.get(), host.config));
  host.oom.finish();
  return host;
}

Result<void> Host::step(const char* name) const {
  if (config.fail_step == std::string("die at ") + name) ::raise(SIGKILL);
  if (config.fail_step != name) return {};
  return Error::from_errno(EIO, name);
}

}  // namespace cay::launcher
